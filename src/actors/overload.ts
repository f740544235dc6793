// Detects that the service has too little processor time; other parts read from here which work to leave undone.
import { createActor, type StateValueFrom } from 'xstate';
import { type OverloadActor, overloadMachine } from '../../machines/power/overload.machine.js';

export type OverloadState = StateValueFrom<typeof overloadMachine>;

/** A look at the clock that comes this late waited for other work. */
const LATE_MS = 500;

export class Overload {
  readonly #actor: OverloadActor = createActor(overloadMachine);

  /** @param onState receives each new state */
  constructor(onState: (state: OverloadState) => void) {
    let before = this.#state;
    this.#actor.subscribe(({ value }) => {
      if (value !== before) onState(value);
      before = value;
    });
    this.#actor.start();
  }

  /** Called once a second. @param lateMs delay of the look; `nowMs` is monotonic */
  look(lateMs: number, nowMs: number): void {
    const { lateLooks } = this.#actor.getSnapshot().context;
    if (lateMs >= LATE_MS) this.#actor.send({ type: 'look.late', nowMs });
    else if (lateLooks > 0 || this.areRaisesWaiting) this.#actor.send({ type: 'look.punctual', nowMs });
  }

  get areRaisesWaiting(): boolean {
    return this.#state !== 'none';
  }

  get areReadsRefused(): boolean {
    return this.#actor.getSnapshot().value === 'readsRefused';
  }

  get #state(): OverloadState {
    return this.#actor.getSnapshot().value;
  }
}
