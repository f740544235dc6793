// A charger with one connector that keeps the whole contract of mqtt.md. Its car is made up; the rest is what you need.
// With DC_W, the most it gives, it is a DC charger: it says and hears W at the car instead of A per phase.
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import mqtt from 'mqtt';

const { MQTT_URL, TENANT, LOCATION, CHARGER, PASSWORD } = process.env;
const { HEARTBEAT_S = 10, DC_W, FAILSAFE_A = DC_W ? 0 : 6, CAR_A = 16, CAR_W = 50_000 } = process.env;
const [unit, least, most, car] = DC_W ? ['W', 1, DC_W, CAR_W] : ['A', 6, 32, CAR_A];
const inUnit = (limit, what = 'limit') => ({ [`${what}${unit}`]: limit });
const encode = (id) => id.replaceAll('.', '%2E').replaceAll(':', '%3A');
const prefix = `ems/v1/${encode(TENANT)}/${encode(LOCATION)}/${encode(CHARGER)}`;
const [boot, kept] = [randomUUID(), `${CHARGER}.then`];
const sentAtMs = new Map(); // of each heartbeat, by the monotonic clock of `performance`
let then = Number(existsSync(kept) ? readFileSync(kept) : FAILSAFE_A); // what applies without a lease
let held = { epoch: 0, seq: 0, limit: then };
let [hb, fence, leaseTimer] = [0, held, undefined];

const stateOf = (online) => {
  const kind = DC_W ? { powerType: 'DC' } : { phases: 3 };
  const range = { ...inUnit(least, 'min'), ...inUnit(Number(most), 'max'), ...inUnit(then, 'failsafe') };
  const own = { id: '1', ...kind, ...range, lease: 'heartbeat', keepsThen: true };
  return JSON.stringify({ v: 1, online, boot, connectors: [own] });
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
  const { limit, ...grant } = held;
  const drawn = Math.min(limit, car);
  const status = Number(car) === 0 ? 'Available' : drawn > 0 ? 'Charging' : 'SuspendedEVSE';
  const measured = DC_W
    ? { powerW: drawn }
    : { powerW: Math.round(690 * drawn), currentA: [drawn, drawn, drawn] };
  say('c/1/meter', JSON.stringify({ v: 1, boot, hb, status, ...measured, ...grant, ...inUnit(limit) }));
}

function hold(next, why) {
  const isChanged = next.limit !== held.limit || next.seq === 0;
  held = next; // a real charger tells the car here
  console.log(`held to ${next.limit} ${unit}: ${why}`);
  if (isChanged) sayMeter();
}

function take(message) {
  const { boot: to, epoch, seq, ref, ttlS, reason } = message;
  const [limit, nextThen] = DC_W ? [message.limitW, message.thenW] : [message.limitA, message.thenA];
  const isNewer = epoch > fence.epoch || (epoch === fence.epoch && seq > fence.seq);
  if (to !== boot || !isNewer) return 'STALE';
  if (![limit, nextThen].every((each) => each === 0 || each >= least) || ref > hb) return 'REJECTED';
  const leftMs = sentAtMs.get(ref) + 1000 * ttlS - performance.now(); // from when the heartbeat was sent
  if (!(leftMs > 0)) return 'EXPIRED';
  if (nextThen !== then) {
    writeFileSync(`${kept}.new`, `${nextThen}`, { flush: true }); // on disk before it is acknowledged
    renameSync(`${kept}.new`, kept);
    then = nextThen;
    sayState();
  }
  clearTimeout(leaseTimer);
  leaseTimer = setTimeout(() => hold({ epoch: 0, seq: 0, limit: then }, 'the lease is over'), leftMs);
  fence = { epoch, seq };
  hold({ ...fence, limit: Math.min(limit, most) }, reason);
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
    const message = JSON.parse(payload);
    const { epoch, seq } = message;
    const result = take(message);
    if (result !== 'APPLIED') console.log(`${result}: limit ${epoch}/${seq}`);
    const ack = { v: 1, boot, epoch, seq, result, ...inUnit(held.limit, 'applied') };
    say('c/1/ack', JSON.stringify(ack), { qos: 1 });
  } catch ({ message }) {
    console.log(`not understood: ${message}`);
  }
});
client.on('error', ({ message }) => console.log(message));
setInterval(sayMeter, 1000 * HEARTBEAT_S);
