// Entry point of a report: unpacks its data, and shows an error if this fails.
import '../style/tokens.css';
import '../style/base.css';
import '../style/parts.css';
import '../location/location.css';
import './report.css';
import { render } from 'preact';
import { DATA_ELEMENT_ID, type ReportData } from '../../sim/report/report-data.js';
import { showTimesIn } from '../ui/time.js';
import { ReportPage } from './report-page.js';

async function readData(): Promise<ReportData> {
  const holder = document.getElementById(DATA_ELEMENT_ID);
  const packed = Uint8Array.from(atob(holder?.textContent ?? ''), (character) => character.charCodeAt(0));
  // The text may be long, and nothing needs it again.
  holder?.remove();
  const unzipped = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(unzipped).json();
}

showTimesIn('UTC');
const page = document.getElementById('page');
if (page !== null)
  readData().then(
    (data) => render(<ReportPage data={data} />, page),
    (error: unknown) => render(<p class="empty">This report cannot be shown: {String(error)}</p>, page),
  );
