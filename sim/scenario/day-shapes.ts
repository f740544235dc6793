// When in a day cars come, as weights of its 24 hours by the site's clock.

export const DAY_SHAPES = {
  flat: Array.from({ length: 24 }, () => 1),
  /** Vans that come back in the afternoon and stay the night. */
  depot: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 3, 6, 10, 12, 8, 4, 2, 1, 0, 0],
  /** People who come to work. */
  workplace: [0, 0, 0, 0, 0, 1, 4, 10, 12, 6, 3, 2, 2, 2, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0],
  /** People who come home. */
  residential: [2, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3, 4, 7, 10, 11, 9, 6, 5, 4, 3],
  /** A car park in town. */
  public: [1, 0, 0, 0, 0, 1, 2, 4, 6, 8, 9, 9, 10, 9, 8, 8, 9, 10, 9, 7, 5, 4, 3, 2],
} as const satisfies Readonly<Record<string, readonly number[]>>;
export type DayShape = keyof typeof DAY_SHAPES;
