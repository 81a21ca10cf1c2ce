import { choosePort } from '../../../ops/embedded/free-port.ts';
import { startMovingAddress } from '../../setup/moving-address.ts';
import { startS3Server } from '../../setup/s3-server.ts';
import { auditBooks, queryOwner } from '../audit.ts';
import { pause } from '../pause.ts';
import type { ChaosScenario } from '../scenario.types.ts';
import { startStack } from '../stack.ts';
import { auditTasks, orderTasks, type ToldTasks } from '../task-client.ts';

const TASKS = 10;
const TASKS_PER_SECOND = 5;
const AWAY_MS = 25_000;
/** Hanging requests must time out and be retried within this time, in ms. */
const ENDED_WITHIN_MS = 60_000;

export const storageAway: ChaosScenario = {
  id: 'B5',
  fault: `the bucket refuses connections for ${AWAY_MS / 1_000} s, then its host goes silent, each under ${TASKS} tasks`,
  asked: 'no task fails because of it, no engine makes an image twice, all end within a minute',
  inShortForm: false,
  async run(services) {
    const s3 = await startS3Server().catch((error: unknown) => String(error));
    if (typeof s3 === 'string') {
      return { measured: '', failures: [], skipped: s3 };
    }
    const address = await startMovingAddress(s3.port);
    const { region, bucket, accessKeyId, secretAccessKey } = s3.location;
    const stack = await startStack(services, {
      apis: 1,
      workers: [[]],
      settings: {
        STORAGE: 's3',
        S3_ENDPOINT: `http://127.0.0.1:${address.port}`,
        S3_REGION: region,
        S3_BUCKET: bucket,
        S3_ACCESS_KEY_ID: accessKeyId,
        S3_SECRET_ACCESS_KEY: secretAccessKey,
        S3_FORCE_PATH_STYLE: 'true',
      },
    });
    try {
      const accounts = [await stack.openAccount('1000')];
      const told: ToldTasks = { accepted: [], refused: 0 };
      const order = () =>
        orderTasks({ urls: () => stack.urls, accounts, perSecond: TASKS_PER_SECOND, count: TASKS, told });
      address.move(await choosePort());
      // connections that the product keeps open would still lead there
      address.vanish();
      await order();
      await pause(AWAY_MS);
      address.move(s3.port);
      const back = await auditTasks(stack.database.ownerUrl, told, ENDED_WITHIN_MS);
      const orders = order();
      await pause(500);
      address.vanish();
      await orders;
      const silent = await auditTasks(stack.database.ownerUrl, told, ENDED_WITHIN_MS);
      const repeated = await queryOwner<{ id: string; runs: number }>(
        stack.database.ownerUrl,
        `SELECT id, generation_runs AS runs FROM tasks WHERE state = 'succeeded' AND generation_runs > 1`,
      );
      const books = await auditBooks(stack.database.ownerUrl, 5_000);
      // the engine rejects every tenth order
      const failedMax = Math.ceil(told.accepted.length / 10);
      return {
        measured: `all ended ${(back.endedAfterMs / 1_000).toFixed(1)} s after it was back, and ${(silent.endedAfterMs / 1_000).toFixed(1)} s after it went silent; ${silent.succeeded} succeeded, ${silent.failed} failed as ordered; ${repeated.length} images made twice`,
        failures: [
          ...(silent.failed > failedMax ? [`${silent.failed} tasks failed`] : []),
          ...(told.refused > 0 ? [`${told.refused} orders refused`] : []),
          ...repeated.map(({ id, runs }) => `${id} was made ${runs} times`),
          ...silent.wrong,
          ...books,
        ],
      };
    } finally {
      await stack.stop();
      await address.close();
      await s3.close();
    }
  },
};
