/** The command failed, or its result is not the expected one. */
export const FAILED = 1;
/** The command did not start, because the command line or a file is wrong. */
export const NOT_BEGUN = 2;

export const EXIT_CODES_HELP = `
Exit codes: 0 done; ${FAILED} it failed, or a run missed its expectations; ${NOT_BEGUN} a wrong argument, setting or file: nothing was started.`;
