// Reads the differences of a branch from its scenario: calls and faults from an instant on, in the notation of a
// scenario.
import { z } from 'zod';
import type { EpochMs } from '../../machines/values/time.js';
import { GROUP_RULE, listSchema } from '../../src/provisioning/field-schemas.js';
import { parseYaml } from '../../src/provisioning/parse-yaml.js';
import { type ActionInput, actionSchema } from './action-schema.js';
import type { FaultLevel } from './fault-levels.js';
import { type FaultInput, faultsSchema } from './fault-schema.js';
import { actionOf, faultOf } from './parse-scenario.js';
import type { Action, Fault, Scenario } from './scenario.js';
import { additionProblems } from './scenario-checks.js';
import { sitePlanOf } from './site-plan.js';

/**
 * Additional calls and faults. Offsets such as `+10m`, and faults without `from`, count from the start of the branch.
 */
export interface BranchInput {
  readonly actions?: readonly ActionInput[];
  readonly faults?: FaultLevel | readonly FaultInput[];
}

export interface Branch {
  readonly actions: readonly Action[];
  readonly faults: readonly Fault[];
}

const branchSchema = z.strictObject(
  { actions: listSchema(actionSchema).default([]), faults: faultsSchema },
  `${GROUP_RULE}: actions, faults`,
);

/**
 * @param text YAML 1.2, or JSON.
 * @param path name of the file in error messages.
 * @param fromMs start of the branch.
 * @throws UnusableFileError with every problem, in the order of the text.
 */
export function parseBranch(text: string, path: string, scenario: Scenario, fromMs: EpochMs): Branch {
  const { endsAtMs, utcOffsetMs, provision } = scenario;
  const span = { startsAtMs: fromMs, endsAtMs, utcOffsetMs };
  const plan = sitePlanOf(provision);
  const { data, place } = parseYaml(text, path, {
    schema: branchSchema,
    check: (file) => additionProblems(file, span, provision),
    secrets: [],
  });
  return {
    actions: data.actions
      .flatMap((entry, i) => actionOf(entry, i, place(['actions', i]), plan, span))
      .sort((a, b) => a.atMs - b.atMs),
    faults: data.faults
      .map((entry) => faultOf(entry, plan, span))
      .map((fault) => ({ ...fault, untilMs: Math.min(fault.untilMs, endsAtMs) })),
  };
}

/** `scenario` with the additions of `branch`. Until the branch begins, the same seed gives the same events. */
export function branched(scenario: Scenario, { actions, faults }: Branch): Scenario {
  const before = 1 + Math.max(-1, ...scenario.actions.map(({ nth }) => nth));
  const added = actions.map((action) => ({ ...action, nth: before + action.nth }));
  return {
    ...scenario,
    planned: scenario.planned ?? scenario.actions,
    actions: [...scenario.actions, ...added].sort((a, b) => a.atMs - b.atMs),
    faults: [...scenario.faults, ...faults],
  };
}
