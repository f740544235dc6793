// Attack on an OCPP gateway: invalid upgrades, wrong passwords, bytes that are not a frame, answers without a request.
import { connect } from 'node:net';
import { systemClock } from '../../src/clock.js';
import type { Dice } from './attack-dice.js';
import { BROKEN, upgradeText } from './http-bytes.js';

export interface OcppPrey {
  readonly ocppUrl: string;
  /** The attackers' own chargers. */
  readonly members: readonly { readonly identity: string; readonly password: string }[];
}

export interface OcppTally {
  upgrades: number;
  frames: number;
  /** Upgrades by the status of the answer. */
  readonly statuses: Map<number, number>;
  /** Connections that the gateway did not accept. */
  refused: number;
}

const STAYS_MS = 1_000;
const SWITCHED = 101;
const TEXT = 1;

/** A web socket frame of a client. @param declared length in the head of the frame, if it differs from the true one */
function frame(
  opcode: number,
  payload: Buffer,
  { isMasked = true, first = 0x80, declared = payload.length } = {},
): Buffer {
  const mask = isMasked ? 0x80 : 0;
  const head =
    declared < 126
      ? Buffer.from([first | opcode, mask | declared])
      : declared < 65_536
        ? Buffer.from([first | opcode, mask | 126, declared >> 8, declared & 255])
        : longHead(first | opcode, mask | 127, declared);
  // A mask of zeros leaves the payload unchanged.
  return Buffer.concat([head, Buffer.alloc(isMasked ? 4 : 0), payload]);
}

function longHead(first: number, second: number, declared: number): Buffer {
  const head = Buffer.alloc(10);
  head[0] = first;
  head[1] = second;
  head.writeBigUInt64BE(BigInt(declared), 2);
  return head;
}

const CALLS: readonly (readonly [string, object])[] = [
  ['BootNotification', { chargePointVendor: 'Mob', chargePointModel: 'M' }],
  ['BootNotification', { reason: 'PowerUp', chargingStation: { vendorName: 'Mob', model: 'M' } }],
  ['Heartbeat', {}],
  ['StatusNotification', { connectorId: 1, errorCode: 'NoError', status: 'Charging' }],
  ['StartTransaction', { connectorId: 1, idTag: 'x', meterStart: 0, timestamp: '2026-06-01T12:00:00Z' }],
  ['StopTransaction', { transactionId: 7, meterStop: 1, timestamp: '2026-06-01T12:00:00Z' }],
  [
    'MeterValues',
    {
      connectorId: 1,
      meterValue: [
        {
          timestamp: '2026-06-01T12:00:00Z',
          sampledValue: [{ value: '1e999', measurand: 'Current.Import' }],
        },
      ],
    },
  ],
  [
    'TransactionEvent',
    {
      eventType: 'Started',
      timestamp: '2026-06-01T12:00:00Z',
      triggerReason: 'CablePluggedIn',
      seqNo: 0,
      transactionInfo: { transactionId: 't' },
    },
  ],
  ['Authorize', { idTag: 'x' }],
  ['DataTransfer', { vendorId: 'x' }],
  ['Nope', {}],
];

function drawMessage(dice: Dice): Buffer {
  const [method, body] = dice.pick(CALLS);
  const id = dice.pick(['1', '1', `${dice.below(1e9)}`, '', 'x'.repeat(400)]);
  return dice.pick<() => Buffer>([
    ...Array.from(
      { length: 10 },
      () => () => Buffer.from(`[2,${JSON.stringify(id)},"${method}",${dice.json(body)}]`),
    ),
    () => Buffer.from(`[3,${JSON.stringify(id)},${dice.json({ status: 'Accepted' })}]`),
    () => Buffer.from(`[4,${JSON.stringify(id)},"InternalError","",{}]`),
    () => Buffer.from(`[${dice.json({})},1]`),
    () =>
      Buffer.from(
        dice.pick(['', '[]', '{}', '[2]', '5', '[2,1,2,3,4,5,6]', '[9,"x","y",{}]', '[2,"a",null,null]']),
      ),
    () => Buffer.from('['.repeat(10_000)),
    () => dice.bytes(dice.below(200)),
    () => dice.flipped(Buffer.from(`[2,"a","${method}",${JSON.stringify(body)}]`)),
  ])();
}

function drawFrame(dice: Dice): Buffer {
  const payload = drawMessage(dice);
  return dice.pick<() => Buffer>([
    ...Array.from({ length: 14 }, () => () => frame(TEXT, payload)),
    () => frame(TEXT, payload, { isMasked: false }),
    () => frame(dice.below(16), payload.subarray(0, 120)),
    () => frame(TEXT, payload, { first: dice.below(16) << 4 }),
    () => frame(TEXT, payload, { declared: dice.pick([0, 126, 200_000, 2 ** 40, 2 ** 53 - 1]) }),
    () => frame(TEXT, Buffer.alloc(140_000, '[')),
    () => frame(0, payload),
    () => frame(9, Buffer.alloc(125)),
    () => frame(8, Buffer.from([dice.below(256), dice.below(256)])),
    () => dice.bytes(1 + dice.below(60)),
    () => dice.flipped(frame(TEXT, payload)),
  ])();
}

/** An upgrade, and the frames that follow if it succeeded. */
function visit(prey: OcppPrey, tally: OcppTally, head: string, frames: readonly Buffer[]): Promise<void> {
  const { hostname, port } = new URL(prey.ocppUrl);
  return new Promise((resolve) => {
    let text = '';
    let isConnected = false;
    const socket = connect(Number(port), hostname, () => {
      isConnected = true;
      socket.write(head, 'latin1');
    });
    const leave = () => {
      cancel();
      socket.destroy();
      resolve();
    };
    const cancel = systemClock.after(STAYS_MS, leave);
    socket.on('data', (chunk) => {
      if (text !== '') return;
      text = chunk.toString('latin1');
      const status = Number(text.split(' ')[1]);
      tally.statuses.set(status, (tally.statuses.get(status) ?? 0) + 1);
      if (status !== SWITCHED) return leave();
      tally.frames += frames.length;
      socket.write(Buffer.concat(frames), () => void systemClock.after(10, leave));
    });
    socket.on('error', () => {
      if (!isConnected) tally.refused++;
    });
    socket.on('close', leave);
  });
}

function drawHead(dice: Dice, { ocppUrl, members }: OcppPrey): string {
  const { identity, password } = dice.pick(members);
  const { pathname } = new URL(ocppUrl);
  const protocol = dice.pick(['ocpp1.6', 'ocpp1.6', 'ocpp2.0.1', 'ocpp2.1']);
  const good = { identity, password, protocol };
  return dice.pick<() => string>([
    ...Array.from({ length: 10 }, () => () => upgradeText(pathname, good)),
    ...BROKEN.map((flaw) => () => upgradeText(pathname, { ...good, flaw })),
    () => upgradeText(pathname, { ...good, password: dice.name() }),
    () => upgradeText(pathname, { ...good, password: dice.pick(members).password }),
    () => upgradeText(pathname, { ...good, identity: dice.name() }),
    () => upgradeText(pathname, { ...good, protocol: dice.pick(['ocpp9', '', 'ocpp1.6,'.repeat(500)]) }),
    () => upgradeText(pathname, good).replace('GET', 'POST'),
    () => upgradeText(`${pathname}/${dice.name()}`, good),
    () => upgradeText(pathname, good).slice(0, 1 + dice.below(200)),
    () => dice.flipped(Buffer.from(upgradeText(pathname, good))).toString('latin1'),
    () => `${dice.bytes(40).toString('latin1')}\r\n\r\n`,
  ])();
}

/** Sends `count` upgrades and frames, many connections at once. */
export async function attackOcpp(
  dice: Dice,
  prey: OcppPrey,
  tally: OcppTally,
  {
    count,
    atOnce,
    isOver,
  }: { readonly count: number; readonly atOnce: number; readonly isOver: () => boolean },
): Promise<void> {
  const sent = () => tally.upgrades + tally.frames;
  const until = sent() + count;
  const attacker = async () => {
    while (sent() < until && !isOver()) {
      const frames = Array.from({ length: 1 + dice.below(dice.isOneIn(10) ? 500 : 20) }, () =>
        drawFrame(dice),
      );
      tally.upgrades++;
      await visit(prey, tally, drawHead(dice, prey), frames.slice(0, Math.max(0, until - sent())));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, attacker));
}
