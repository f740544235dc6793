// Entry point of the report page: unpacks the data, builds the parts, and shows an error if this fails.
import './page.css';
import { LEGEND } from '../legend.js';
import { DATA_ELEMENT_ID, type ReportData } from '../report-data.js';
import { ConnectorList } from './connector-list.js';
import { element } from './element.js';
import { createMarkLanes } from './mark-lanes.js';
import { createOverview } from './overview.js';
import { createPowerChart } from './power-chart.js';
import { createProfileLanes } from './profile-lanes.js';
import { pointAtTime } from './stage.js';
import { createTimeBar } from './time-bar.js';
import { siteAt } from './unpack.js';
import { createViewpoint } from './viewpoint.js';
import { createVoltageChart } from './voltage-chart.js';
import { duration } from './words.js';

async function readData(): Promise<ReportData> {
  const holder = document.getElementById(DATA_ELEMENT_ID);
  const packed = Uint8Array.from(atob(holder?.textContent ?? ''), (character) => character.charCodeAt(0));
  // The text may be long, and nothing needs it again.
  holder?.remove();
  const unzipped = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(unzipped).json();
}

/** Explains the terms of the figures to a new reader. */
function createLegend(): HTMLElement {
  const words = LEGEND.flatMap(([name, meaning]) => [element('dt', {}, name), element('dd', {}, meaning)]);
  return element(
    'details',
    { class: 'words' },
    element('summary', {}, 'What the figures mean'),
    element('dl', {}, ...words),
  );
}

function build(data: ReportData): void {
  const first = siteAt(data, 0);
  if (first === undefined) {
    document.body.append(element('p', { class: 'empty' }, 'Nothing happened in this run.'));
    return;
  }
  const viewpoint = createViewpoint(data, first);
  // A comparison begins at the instant at which the runs differ.
  viewpoint.choose(data.compared?.differsAtMs ?? data.startsAtMs);
  const ruler = element('div', { class: 'time ruler' });
  const stage = element('div', { class: 'stage' });
  document.body.append(
    createOverview(data, viewpoint),
    createTimeBar(data, viewpoint),
    stage,
    element(
      'footer',
      {},
      'Click to choose an instant, drag to zoom. Keys: ← → (with Shift further), Home, End, [ ] to the marks before and after, + − 0. ',
      `Power and limits of connectors in steps of ${duration(data.stepMs / 1000)}; status, reason, lease and link to the millisecond. Times are UTC, beside the instant also those of the site.`,
      createLegend(),
    ),
  );
  // The ruler must have its width before charts are drawn along it.
  stage.append(
    element(
      'div',
      { class: 'row' },
      element('div', { class: 'left' }),
      ruler,
      element('div', { class: 'right' }),
    ),
  );
  stage.append(
    createPowerChart(viewpoint, ruler),
    createVoltageChart(viewpoint, ruler),
    createProfileLanes(viewpoint),
    createMarkLanes(viewpoint),
    new ConnectorList(viewpoint).element,
  );
  pointAtTime(stage, ruler, viewpoint);
}

try {
  build(await readData());
} catch (error) {
  document.body.append(element('p', { class: 'empty' }, `This report cannot be shown: ${error}`));
}
