// What a seed may be: apart from the scenario's shape, because a command's help says it too.
export const LARGEST_SEED = 2 ** 31 - 1;
