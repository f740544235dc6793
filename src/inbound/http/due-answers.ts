// Counts the answers that are due from whoever takes requests for a time, so that it can go once it has given them all.
import type { ServerResponse } from 'node:http';

export class DueAnswers {
  readonly #answered: Promise<void>;
  readonly #tell: () => void;
  #isEnding = false;
  #due = 0;

  constructor() {
    let tell = () => {};
    this.#answered = new Promise((resolve) => {
      tell = resolve;
    });
    this.#tell = tell;
  }

  take(response: ServerResponse): void {
    this.#due++;
    response.on('close', () => {
      this.#due--;
      this.#look();
    });
  }

  /** Nothing more is taken; resolves once all that was is answered. */
  end(): Promise<void> {
    this.#isEnding = true;
    this.#look();
    return this.#answered;
  }

  #look(): void {
    if (this.#isEnding && this.#due === 0) this.#tell();
  }
}
