// Each part of a machine gives a mutant, and its removal restores the machine.
import { describe, expect, it } from 'vitest';
import { assign, createActor, setup } from 'xstate';
import { TestCharger } from '../machines/ocpp-charger.js';
import { MACHINES, mutantsOf } from './mutants.js';

/** Counts presses while it is on, and emits `hello` at its start. */
function lamp() {
  return setup({
    types: { context: {} as { presses: number }, events: {} as { type: 'pressed' } | { type: 'broke' } },
    actions: { count: assign({ presses: ({ context }) => context.presses + 1 }), greet: () => {} },
    guards: { isWorn: ({ context }) => context.presses > 2 },
  }).createMachine({
    id: 'lamp',
    context: { presses: 0 },
    initial: 'off',
    entry: 'greet',
    on: { broke: { target: '.broken' } },
    states: {
      off: { on: { pressed: { target: 'on', actions: ['count', 'greet'] } } },
      on: { always: { guard: 'isWorn', target: 'broken' }, on: { pressed: 'off' } },
      broken: {},
    },
  });
}

function stateAfter(machine: ReturnType<typeof lamp>, ...events: ('pressed' | 'broke')[]) {
  const actor = createActor(machine).start();
  for (const type of events) actor.send({ type });
  const { value, context } = actor.getSnapshot();
  return [value, context.presses];
}

describe('The mutants of a machine', () => {
  it('include one for each transition, action and state', () => {
    expect(mutantsOf(lamp()).map(({ name }) => name)).toEqual([
      'lamp: broke → lamp.broken',
      'lamp: entry without greet',
      'lamp.off: pressed → lamp.on',
      'lamp.off: pressed → lamp.on, without count',
      'lamp.off: pressed → lamp.on, without greet',
      'lamp.on: pressed → lamp.off',
      'lamp.on: always → lamp.broken',
      'lamp.off: the state',
      'lamp.on: the state',
      'lamp.broken: the state',
    ]);
  });

  it.each([
    ['lamp: broke → lamp.broken', ['broke'], ['off', 0]],
    ['lamp.off: pressed → lamp.on', ['pressed'], ['off', 0]],
    ['lamp.off: pressed → lamp.on, without count', ['pressed'], ['on', 0]],
    ['lamp.on: pressed → lamp.off', ['pressed', 'pressed'], ['on', 1]],
    ['lamp.on: always → lamp.broken', ['pressed', 'pressed', 'pressed', 'pressed', 'pressed'], ['on', 3]],
    ['lamp.off: the state', [], ['on', 0]],
    ['lamp.on: the state', ['pressed'], ['off', 0]],
    ['lamp.broken: the state', ['broke'], ['off', 0]],
  ] as const)('lack their named part until it is restored: %s', (name, events, then) => {
    const machine = lamp();
    const whole = stateAfter(machine, ...events);
    const putBack = mutantsOf(machine)
      .find((mutant) => mutant.name === name)
      ?.plant();
    expect(stateAfter(machine, ...events)).toEqual(then);
    putBack?.();
    expect(stateAfter(machine, ...events)).toEqual(whole);
  });
});

it('A session that asks without end under a mutant fails its test', () => {
  const putBack = [...MACHINES.values()]
    .flatMap(mutantsOf)
    .find(({ name }) => name === 'chargePoint.configuration.takenUp.configuring: step.answered 3')
    ?.plant();
  try {
    expect(() => new TestCharger().connect().pass(3)).toThrow('the session boot-1 asks without end');
  } finally {
    putBack?.();
  }
});
