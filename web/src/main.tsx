// Starts the page.
import { render } from 'preact';
import { startRouting } from './route';
import { Shell } from './shell';
import { startTheme } from './theme';

startTheme();
startRouting();
render(<Shell />, document.getElementById('app')!);
