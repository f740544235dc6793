// Looks back: chooses a past instant, and shows its limits and power.
import { useEffect, useRef } from 'preact/hooks';
import { kwText } from '../../machines/values/figures.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { Resource } from '../api/resource.js';
import { Button } from '../ui/button.js';
import { Framed } from '../ui/field.js';
import { ErrorNotice } from '../ui/notice.js';
import { Time, utcText } from '../ui/time.js';
import { Figure, FigureRow } from './figure-row.js';
import { InstantField } from './instant-field.js';
import { fromLocalInput, toLocalInput } from './local-input.js';
import { valueAt } from './step-line.js';
import type { Span } from './time-view.js';
import type { ChartLines } from './use-chart-lines.js';
import type { PastState } from './use-past-state.js';

const MINUTE_MS = 60_000;
function wholeSecond(atMs: EpochMs): EpochMs {
  return Math.floor(atMs / 1000) * 1000;
}

/** Earliest instant of the slider: the location did not exist before `knownFromMs`. */
function firstChoice({
  span,
  nowMs,
  knownFromMs,
}: Pick<AsOfProps, 'span' | 'nowMs' | 'knownFromMs'>): EpochMs {
  const firstMs = Math.ceil(Math.max(span.fromMs, knownFromMs) / 1000) * 1000;
  return Math.min(firstMs, wholeSecond(nowMs));
}

interface AsOfProps {
  readonly atMs: EpochMs | undefined;
  /** The slider covers the past part of this span. */
  readonly span: Span;
  readonly nowMs: EpochMs;
  /** Earliest instant for which the service has limits in force. */
  readonly knownFromMs: EpochMs;
  readonly onChange: (atMs: EpochMs | undefined) => void;
}

/** The controls; `atMs` undefined is now. */
export function AsOfBar(props: AsOfProps) {
  const { atMs, nowMs, onChange } = props;
  const controls = useRef<HTMLDivElement>(null);
  const isPast = atMs !== undefined;
  const wasPast = useRef(isPast);
  useEffect(() => {
    // The used control has disappeared, so the focus moves to the next one.
    if (wasPast.current !== isPast) controls.current?.querySelector<HTMLElement>('input, button')?.focus();
    wasPast.current = isPast;
  }, [isPast]);
  return (
    <div ref={controls}>
      {atMs === undefined ? (
        <Button onClick={() => onChange(Math.max(firstChoice(props), wholeSecond(nowMs - 10 * MINUTE_MS)))}>
          Look back…
        </Button>
      ) : (
        <PastControls {...props} atMs={atMs} />
      )}
    </div>
  );
}

function PastControls(props: AsOfProps & { readonly atMs: EpochMs }) {
  const { atMs, span, nowMs, onChange } = props;
  const lastMs = wholeSecond(Math.min(span.toMs, nowMs));
  const choose = (chosenMs: EpochMs | undefined) => {
    if (chosenMs !== undefined) onChange(Math.min(chosenMs, wholeSecond(nowMs)));
  };
  const utc = utcText(new Date(atMs).toISOString());
  return (
    <section class="as-of" aria-label="Look back">
      <InstantField
        label="As of"
        value={toLocalInput(atMs)}
        onInput={(text) => choose(fromLocalInput(text))}
      />
      <Framed label="Instant" hint="over the past that the chart shows">
        {(named) => (
          <input
            {...named}
            type="range"
            min={Math.min(firstChoice(props), lastMs)}
            max={lastMs}
            step={1_000}
            value={Math.min(atMs, lastMs)}
            aria-valuetext={utc}
            onInput={(event) => choose(Number(event.currentTarget.value))}
          />
        )}
      </Framed>
      <Button kind="primary" onClick={() => onChange(undefined)}>
        Back to now
      </Button>
    </section>
  );
}

/** Replaces the live figures. */
export function PastHead({
  atMs,
  past,
  lines,
}: {
  readonly atMs: EpochMs;
  readonly past: Resource<PastState | undefined>;
  readonly lines: Pick<ChartLines, 'inForceKw' | 'lowestKw'>;
}) {
  const { value, error, isLoading } = past;
  const at = new Date(error === undefined && value !== undefined ? value.atMs : atMs).toISOString();
  return (
    <section class="panel stack past" aria-label="As it was" aria-busy={isLoading}>
      <p class="past-mark" role="status">
        PAST: as it was at <Time at={at} />
      </p>
      {error !== undefined && <ErrorNotice error={error} />}
      {error === undefined && value !== undefined && (
        <FigureRow>
          <Figure name="Effective limit" note="from its own profiles at that time">
            {kwText(value.limits.effectiveLimitKw)}
          </Figure>
          <Figure name="Permanent limit" note="at that time">
            {kwText(value.limits.permanentLimitKw)}
          </Figure>
          <Figure name="Drew" note={value.power === undefined ? 'not recorded' : 'mean of that minute'}>
            {value.power === undefined ? '–' : kwText(value.power.meanKw)}
          </Figure>
          <Figure name="Peak" note="highest power of that minute">
            {value.power === undefined ? '–' : kwText(value.power.maxKw)}
          </Figure>
          <PastLimit at={value} lines={lines} />
          {value.power != null && value.power.building !== null && (
            <>
              <Figure
                name="Building"
                note={`mean of that minute, highest ${kwText(value.power.building.maxKw)}`}
              >
                {kwText(value.power.building.meanKw)}
              </Figure>
              <Figure name="Reserve" note="kept free for the building to rise">
                {kwText(value.power.building.meanReserveKw)}
              </Figure>
            </>
          )}
        </FigureRow>
      )}
    </section>
  );
}

/** The limit at that instant if the chart has it, and otherwise the mean of its minute. */
function PastLimit({
  at: { atMs, power },
  lines: { inForceKw, lowestKw },
}: {
  readonly at: PastState;
  readonly lines: Pick<ChartLines, 'inForceKw' | 'lowestKw'>;
}) {
  const name = 'Limit in force';
  if (power === undefined)
    return (
      <Figure name={name} note="not recorded">
        –
      </Figure>
    );
  const isVaried = valueAt(lowestKw, atMs) !== null;
  const inForce = valueAt(inForceKw, atMs);
  if (power.limitKw === power.meanLimitKw || isVaried || inForce === null)
    return (
      <Figure name={name} note={limitNote(power)}>
        {kwText(power.meanLimitKw)}
      </Figure>
    );
  return (
    <Figure name={name} note="at that instant; it changed in that minute">
      {kwText(inForce)}
    </Figure>
  );
}

function limitNote({ limitKw, meanLimitKw }: NonNullable<PastState['power']>): string {
  if (limitKw === meanLimitKw) return 'all of that minute';
  return `mean of that minute, lowest ${kwText(limitKw)}`;
}
