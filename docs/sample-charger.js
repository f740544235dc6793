// A charger with one connector that keeps the whole contract of mqtt.md. Only its car is simulated.
// `kill -USR2` plugs in another car, and limits for the session of the previous car end.
// CAR_PHASES is the number of phases that the car uses. With a limit on fewer phases, it charges on fewer.
// DC_W is the maximum of a DC charger. Such a charger sends and receives W at the car instead of A per phase.
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import mqtt from 'mqtt';

const { MQTT_URL, TENANT, LOCATION, CHARGER, PASSWORD } = process.env;
const { HEARTBEAT_S = 10, DC_W, FAILSAFE_A = DC_W ? 0 : 6, CAR_A = 16, CAR_W = 50_000 } = process.env;
const carPhases = Number(process.env.CAR_PHASES ?? 3);
const [unit, least, most, car] = DC_W ? ['W', 1, DC_W, CAR_W] : ['A', 6, 32, CAR_A];
const inUnit = (limit, what = 'limit') => ({ [`${what}${unit}`]: limit });
const encode = (id) => id.replaceAll('.', '%2E').replaceAll(':', '%3A');
const prefix = `ems/v1/${encode(TENANT)}/${encode(LOCATION)}/${encode(CHARGER)}`;
const [boot, file] = [randomUUID(), `${CHARGER}.then`];
const sentAtMs = new Map(); // of each heartbeat, by the monotonic clock of `performance`
let kept = Number(existsSync(file) ? readFileSync(file) : FAILSAFE_A); // what applies after a restart
let then = kept; // what applies when the lease ends
let held = { epoch: 0, seq: 0, limit: then };
let [hb, fence, leaseTimer] = [0, held, undefined];
let [session, lent] = [randomUUID(), undefined]; // of the car, and of the limit that is for it alone
let connected = 3; // as many phases as its contactors leave to the car

const stateOf = (online) => {
  const kind = DC_W ? { powerType: 'DC' } : { phases: 3, endsWithSession: true, switchesPhases: true };
  const range = { ...inUnit(least, 'min'), ...inUnit(Number(most), 'max'), ...inUnit(kept, 'failsafe') };
  const own = { id: '1', ...kind, ...range, lease: 'heartbeat', keepsThen: true };
  return JSON.stringify({ v: 1, online, boot, connectors: [own] });
};
const will = { topic: `${prefix}/state`, payload: stateOf(false), qos: 1, retain: true };
const client = mqtt.connect(MQTT_URL, {
  clientId: CHARGER,
  username: `${TENANT}/${CHARGER}`,
  password: PASSWORD,
  will,
  keepalive: 30,
  reconnectPeriod: 1000 + 2000 * Math.random(),
  reconnectOnConnackError: true,
  resubscribe: false,
  queueQoSZero: false,
});
const say = (topic, body, options) => client.connected && client.publish(`${prefix}/${topic}`, body, options);
const sayState = () => say('state', stateOf(true), { qos: 1, retain: true });

function sayMeter() {
  sentAtMs.set(++hb, performance.now()).delete(hb - 64);
  const { limit, ...grant } = held;
  const [drawn, used] = [Math.min(limit, car), Math.min(carPhases, connected)];
  const status = Number(car) === 0 ? 'Available' : drawn > 0 ? 'Charging' : 'SuspendedEVSE';
  const measured = DC_W
    ? { powerW: drawn }
    : { powerW: 230 * used * drawn, currentA: [1, 2, 3].map((n) => (n > used ? 0 : drawn)) };
  measured.powerW = Math.round(measured.powerW);
  if (!DC_W && Number(car) > 0) measured.session = session;
  say('c/1/meter', JSON.stringify({ v: 1, boot, hb, status, ...measured, ...grant, ...inUnit(limit) }));
}

function hold(next, why) {
  const isChanged = next.limit !== held.limit || next.seq === 0;
  held = next; // a real charger tells the car here
  console.log(`held to ${next.limit} ${unit}: ${why}`);
  if (isChanged) sayMeter();
}

function keep(next, forSession) {
  const nextKept = forSession ? 0 : next; // over a restart nobody knows whether the car is the same
  if (nextKept !== kept) {
    writeFileSync(`${file}.new`, `${nextKept}`, { flush: true }); // on disk before it is acknowledged
    renameSync(`${file}.new`, file);
    kept = nextKept;
    sayState();
  }
  then = next;
}

function endSession(why) {
  session = randomUUID();
  if (lent === undefined) return sayMeter();
  clearTimeout(leaseTimer);
  [lent, then] = [undefined, 0];
  hold({ epoch: 0, seq: 0, limit: 0 }, why); // a real charger opens its contactor here
}

function take(message) {
  const { boot: to, epoch, seq, ref, ttlS, reason } = message;
  const [limit, nextThen] = DC_W ? [message.limitW, message.thenW] : [message.limitA, message.thenA];
  const isNewer = epoch > fence.epoch || (epoch === fence.epoch && seq > fence.seq);
  if (to !== boot || !isNewer || (message.session ?? session) !== session) return 'STALE';
  if (![limit, nextThen].every((each) => each === 0 || each >= least) || ref > hb) return 'REJECTED';
  const leftMs = sentAtMs.get(ref) + 1000 * ttlS - performance.now(); // from when the heartbeat was sent
  if (!(leftMs > 0)) return 'EXPIRED';
  keep(nextThen, message.session);
  lent = message.session;
  connected = message.phases ?? 3; // a real charger stops the car, opens its contactor and switches here
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
process.on('SIGUSR2', () => endSession('another car was plugged in'));
client.on('error', ({ message }) => console.log(message));
setInterval(sayMeter, 1000 * HEARTBEAT_S);
