// Entry point of the dashboard.
import './style/tokens.css';
import './style/base.css';
import './style/parts.css';
import './style/shell.css';
import { render } from 'preact';
import { App } from './app.js';
import { applyTheme } from './shell/theme.js';

applyTheme();
const page = document.getElementById('page');
if (page !== null) render(<App />, page);
