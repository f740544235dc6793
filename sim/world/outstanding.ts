// Counts work of the service outside the thread. Such work takes no virtual time: the world sleeps until it is done.

export class Outstanding {
  #count = 0;
  #idle: Promise<void> | undefined;
  #wake = () => {};

  get isIdle(): boolean {
    return this.#count === 0;
  }

  begin(): void {
    this.#count++;
  }

  end(): void {
    this.#count--;
    if (this.#count > 0) return;
    this.#idle = undefined;
    this.#wake();
  }

  /** Resolves when no work is under way any more. Polling instead would keep a core busy. */
  async idle(): Promise<void> {
    if (this.isIdle) return;
    this.#idle ??= new Promise((resolve) => {
      this.#wake = resolve;
    });
    await this.#idle;
  }
}
