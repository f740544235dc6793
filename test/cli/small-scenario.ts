// A scenario that runs in a second, with a place for a test's additions.

/** Two cars on 20 kW, for an hour; `site-1-c1/1` charges all the time. */
export function smallScenario(more: { readonly faults?: string; readonly expect?: string } = {}): string {
  const { faults = 'none', expect = '' } = more;
  return `name: Small yard
seed: 1
start: 2026-06-01T12:00:00Z
duration: 1h
sites: { count: 1, chargers: 2, connectors: 1, permanentLimitKw: 20 }
sessions:
  visits:
    - { connector: site-1-c1/1, arrives: "12:01", energyKwh: 100 }
    - { connector: site-1-c2/1, arrives: "12:02", energyKwh: 100 }
actions:
  - at: "12:10"
    call: scheduleLocation
    params: { locationId: site-1 }
    body: { startTime: "12:20", endTime: "12:40", limitKw: 10, priority: 4 }
faults: ${faults}
expect:
  - { at: "12:30", location: site-1, effectiveLimitKw: 10, powerKw: { atMost: 10 } }
  - { violations: 0, overshootKws: 0 }
${expect}`;
}
