// Actors that begin without entering their states begin in the same state as a normal start, and continue like it.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ActorLogic, createActor, type SnapshotFrom, setup } from 'xstate';
import { profileLogic, profileMachine, statusOfActor } from '../../machines/limits/profile.machine.js';
import { EMPTY_STACK, putProfile } from '../../machines/limits/profile-stack.js';
import {
  type ConnectorActor,
  type ConnectorEvent,
  type ConnectorInput,
  connectorLogic,
  connectorMachine,
} from '../../machines/power/connector.machine.js';
import { profileWithin } from './arbitraries.js';

const SPAN_MS = 40;
const instant = fc.integer({ min: 0, max: SPAN_MS + 16 });
type ProfileSnapshot = SnapshotFrom<typeof profileMachine>;
type ConnectorSnapshot = SnapshotFrom<typeof connectorMachine>;

/** Together with the context, this determines the further behaviour of an actor. */
function placeOf({ status, value, historyValue, tags, _nodes }: ProfileSnapshot | ConnectorSnapshot) {
  return { status, value, historyValue, tags, nodes: new Set(_nodes.map(({ id }) => id)) };
}

function placesOfProfile(
  logic: typeof profileLogic,
  input: Parameters<typeof profileLogic.getInitialSnapshot>[1],
  later: readonly number[],
) {
  const actor = createActor(logic, { input }).start();
  const seen = () => ({ ...placeOf(actor.getSnapshot()), context: actor.getSnapshot().context });
  return [
    seen(),
    ...later.map((now) => {
      actor.send({ type: 'boundary.reached', now });
      return seen();
    }),
  ];
}

/** States and reports of a connector under a parent that receives them. */
function placesOfConnector(
  logic: ActorLogic<ConnectorSnapshot, ConnectorEvent, ConnectorInput>,
  input: ConnectorInput,
  later: readonly ConnectorEvent[],
) {
  const reports: unknown[] = [];
  const parent = setup({
    types: { context: {} as { readonly connector: ConnectorActor } },
    actions: { listen: ({ event }) => reports.push(event) },
  }).createMachine({
    context: ({ spawn }) => ({ connector: spawn(logic, { input }) }),
    on: { '*': { actions: 'listen' } },
  });
  const { connector } = createActor(parent).start().getSnapshot().context;
  const seen = () => {
    const snapshot = connector.getSnapshot();
    const { profiles, ...context } = snapshot.context;
    const statuses = [...profiles].map(([priority, actor]) => [priority, statusOfActor(actor)]);
    const children = Object.keys(snapshot.children).length;
    return { ...placeOf(snapshot), context, statuses, children, reports: [...reports] };
  };
  return [
    seen(),
    ...later.map((event) => {
      connector.send(event);
      return seen();
    }),
  ];
}

const connectorEvent: fc.Arbitrary<ConnectorEvent> = fc.oneof(
  fc.record({ type: fc.constant('boundary.reached' as const), now: instant }),
  fc.record({
    type: fc.constant('profile.submitted' as const),
    profile: profileWithin(SPAN_MS),
    now: instant,
  }),
  fc.constantFrom<ConnectorEvent>(
    { type: 'meter.received' },
    { type: 'charger.connected' },
    { type: 'charger.disconnected' },
    { type: 'charging.allowed', nowMs: 1 },
    { type: 'charging.paused', nowMs: 2 },
    { type: 'car.left' },
  ),
);

describe('An actor that begins without entering its states', () => {
  it('is in the state of its profile’s window, and leaves it with that', () => {
    fc.assert(
      fc.property(
        profileWithin(SPAN_MS),
        instant,
        fc.array(instant, { maxLength: 4 }),
        (window, now, later) => {
          expect(placesOfProfile(profileLogic, { window, now }, later)).toEqual(
            placesOfProfile(profileMachine, { window, now }, later),
          );
        },
      ),
    );
  });

  it('is a connector with the same lock, throttle and link, that reports the same from then on', () => {
    fc.assert(
      fc.property(
        fc.array(profileWithin(SPAN_MS), { maxLength: 3 }),
        instant,
        fc.array(connectorEvent, { maxLength: 5 }),
        (submitted, now, later) => {
          const input = { key: 'quay-1', stack: submitted.reduce(putProfile, EMPTY_STACK), now };
          expect(placesOfConnector(connectorLogic, input, later)).toEqual(
            placesOfConnector(connectorMachine, input, later),
          );
        },
      ),
    );
  });

  it.each([
    [{ onSinceMs: 1, pausedSinceMs: undefined }, 'charging'],
    [{ onSinceMs: undefined, pausedSinceMs: 1 }, 'paused'],
  ] as const)('is a rebuilt connector that goes on with its turn %j', (turn, throttle) => {
    const actor = createActor(connectorLogic, { input: { key: 'quay-1', stack: EMPTY_STACK, now: 0, turn } });
    expect(actor.getSnapshot().value).toMatchObject({ throttle });
    expect(actor.getSnapshot().context.turn).toEqual(turn);
  });
});
