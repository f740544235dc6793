// A charger with one connector that keeps the whole contract of mqtt.md. Its car is made up; the rest is what you need.
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import mqtt from 'mqtt';

const { MQTT_URL, TENANT, LOCATION, CHARGER, PASSWORD } = process.env;
const { HEARTBEAT_S = 10, FAILSAFE_A = 6, CAR_A = 16 } = process.env;
const encode = (id) => id.replaceAll('.', '%2E').replaceAll(':', '%3A');
const prefix = `ems/v1/${encode(TENANT)}/${encode(LOCATION)}/${encode(CHARGER)}`;
const [boot, kept] = [randomUUID(), `${CHARGER}.then`];
const sentAtMs = new Map(); // of each heartbeat, by the monotonic clock of `performance`
let thenA = Number(existsSync(kept) ? readFileSync(kept) : FAILSAFE_A); // what applies without a lease
let held = { epoch: 0, seq: 0, limitA: thenA };
let [hb, fence, leaseTimer] = [0, held, undefined];

const stateOf = (online) => {
  const own = { minA: 6, maxA: 32, failsafeA: thenA, lease: 'heartbeat', keepsThen: true };
  return JSON.stringify({ v: 1, online, boot, connectors: [{ id: '1', phases: 3, ...own }] });
};
const will = { topic: `${prefix}/state`, payload: stateOf(false), qos: 1, retain: true };
const client = mqtt.connect(MQTT_URL, {
  ...{ clientId: CHARGER, username: `${TENANT}/${CHARGER}`, password: PASSWORD, will, keepalive: 30 },
  ...{ reconnectPeriod: 1000 + 2000 * Math.random(), reconnectOnConnackError: true },
  ...{ resubscribe: false, queueQoSZero: false },
});
const say = (topic, body, options) => client.connected && client.publish(`${prefix}/${topic}`, body, options);
const sayState = () => say('state', stateOf(true), { qos: 1, retain: true });

function sayMeter() {
  sentAtMs.set(++hb, performance.now()).delete(hb - 64);
  const drawnA = Math.min(held.limitA, CAR_A);
  const status = Number(CAR_A) === 0 ? 'Available' : drawnA > 0 ? 'Charging' : 'SuspendedEVSE';
  const measured = { status, powerW: Math.round(690 * drawnA), currentA: [drawnA, drawnA, drawnA] };
  say('c/1/meter', JSON.stringify({ v: 1, boot, hb, ...measured, ...held }));
}

function hold(next, why) {
  const isChanged = next.limitA !== held.limitA || next.seq === 0;
  held = next; // a real charger tells the car here
  console.log(`held to ${next.limitA} A: ${why}`);
  if (isChanged) sayMeter();
}

function take({ boot: to, epoch, seq, ref, ttlS, limitA, thenA: nextThenA, reason }) {
  const isNewer = epoch > fence.epoch || (epoch === fence.epoch && seq > fence.seq);
  if (to !== boot || !isNewer) return 'STALE';
  if (![limitA, nextThenA].every((a) => a === 0 || a >= 6) || ref > hb) return 'REJECTED';
  const leftMs = sentAtMs.get(ref) + 1000 * ttlS - performance.now(); // from when the heartbeat was sent
  if (!(leftMs > 0)) return 'EXPIRED';
  if (nextThenA !== thenA) {
    writeFileSync(`${kept}.new`, `${nextThenA}`, { flush: true }); // on disk before it is acknowledged
    renameSync(`${kept}.new`, kept);
    thenA = nextThenA;
    sayState();
  }
  clearTimeout(leaseTimer);
  leaseTimer = setTimeout(() => hold({ epoch: 0, seq: 0, limitA: thenA }, 'the lease is over'), leftMs);
  fence = { epoch, seq };
  hold({ ...fence, limitA: Math.min(limitA, 32) }, reason);
  return 'APPLIED';
}

function sayAll() {
  sayState();
  sayMeter();
}

client.on('connect', () => client.subscribe([`${prefix}/sync`, `${prefix}/c/1/limit`], { qos: 1 }, sayAll));
client.on('message', (topic, payload) => {
  if (topic.endsWith('/sync')) return sayAll();
  try {
    const limit = JSON.parse(payload);
    const { epoch, seq } = limit;
    const result = take(limit);
    if (result !== 'APPLIED') console.log(`${result}: limit ${epoch}/${seq}`);
    say('c/1/ack', JSON.stringify({ v: 1, boot, epoch, seq, result, appliedA: held.limitA }), { qos: 1 });
  } catch ({ message }) {
    console.log(`not understood: ${message}`);
  }
});
client.on('error', ({ message }) => console.log(message));
setInterval(sayMeter, 1000 * HEARTBEAT_S);
