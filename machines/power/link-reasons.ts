// Why a connector counts as offline, in the words of its alarm. The dashboard puts alarms with the second reason in one line.

export const NOT_CONNECTED = 'The charger is not connected';
/** Nothing of its connector was heard since then; what was before, the service does not keep. */
export const NEVER_CONNECTED = 'The charger has not connected since the service started';
