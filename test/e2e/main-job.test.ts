import { describeMainJob } from './main-job.ts';
import { startService } from './running-service.ts';

describeMainJob(() => startService());
