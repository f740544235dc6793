// `headroom/sim`: the simulator for tests outside this repository. The exports here keep their shape; other modules may
// change theirs.
export type { Capacity } from '../machines/policy/capacity-walk.js';
export type { DeclaredCar, Policy } from '../machines/policy/policies.js';
export { UnusableFileError } from '../src/provisioning/parse-yaml.js';
export type { TraceEvent } from './log/trace-event.js';
export type { ConnectorAt, ConnectorName, EventOf, LocationAt, TraceState } from './log/trace-state.js';
export type { ConnectorSummary, SessionSummary } from './report/connector-account.js';
export type { LocationSummary, Summary } from './report/summary.js';
export type { Rehearsal } from './run/rehearsal.js';
export { rehearse } from './run/rehearse.js';
export type { ActionInput } from './scenario/action-schema.js';
export type { FaultInput } from './scenario/fault-schema.js';
export type { BranchInput } from './scenario/parse-scenario.js';
export { parseScenario, type ScenarioOverrides } from './scenario/parse-scenario.js';
export type { Scenario } from './scenario/scenario.js';
export type { RestAnswer } from './world/rest-client.js';
