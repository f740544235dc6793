// The grid operator's limit, at the top of the page: no setting of the user can lift it.

import { kwText } from '../../machines/values/figures.js';
import type { OperatorLimitView } from '../../src/wire/grid-operator.js';
import { Notice } from '../ui/notice.js';
import { Time } from '../ui/time.js';

/** Hidden while the operator is connected and does not limit the location. */
export function OperatorBanner({ operatorLimit }: { readonly operatorLimit: OperatorLimitView | null }) {
  if (operatorLimit === null || operatorLimit.state === 'UNLIMITED_CONTROLLED') return null;
  return (
    <Notice kind="warning">
      <strong>{HEADINGS[operatorLimit.state] ?? operatorLimit.state}</strong> <Words {...operatorLimit} />
    </Notice>
  );
}

const HEADINGS: Readonly<Record<string, string>> = {
  INIT: 'Grid operator not heard yet.',
  LIMITED: 'Limited by the grid operator.',
  FAILSAFE: 'Grid operator lost.',
  UNLIMITED_AUTONOMOUS: 'Grid operator not heard: it sets no limit.',
};

function Words({ state, limitKw, source, since, endsAt }: OperatorLimitView) {
  switch (state) {
    case 'LIMITED':
      return (
        <>
          {source} has limited the location to {kwText(limitKw ?? 0)} since <Time at={since} isShort />{' '}
          {endsAt === null ? 'until it takes that back.' : <>until {<Time at={endsAt} isShort />}.</>} No
          profile, lock or permanent limit lifts it.
        </>
      );
    case 'UNLIMITED_AUTONOMOUS':
      return (
        <>
          Since <Time at={since} isShort /> the operator has sent nothing that limits the location. What else
          limits it still does.
        </>
      );
    default:
      return (
        <>
          The fail-safe limit of {kwText(limitKw ?? 0)} has held since <Time at={since} isShort />, and holds
          until the operator sends a limit.
        </>
      );
  }
}
