// What the exit codes of every command say to a script.

/** What was asked for failed, or was done and is not as expected. */
export const FAILED = 1;
/** Nothing was begun: what was asked for cannot be done as it was written. */
export const NOT_BEGUN = 2;

export const EXIT_CODES_HELP = `
Exit codes: 0 done; ${FAILED} it failed, or a run was not as expected; ${NOT_BEGUN} a wrong argument, setting or file: nothing was started.`;
