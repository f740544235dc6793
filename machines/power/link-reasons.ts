// Alarm texts for an offline connector. The dashboard merges alarms with the second text into one line.

export const NOT_CONNECTED = 'The charger is not connected';
/** No message about the connector since the service start. The service does not keep earlier ones. */
export const NEVER_CONNECTED = 'The charger has not connected since the service started';
