// The logger of the service.

/** The part of pino that the service uses, so that nothing else depends on pino itself. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
