import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import type { S3Location } from '../../src/media/s3-client.ts';
import { ownTemporaryFolder } from '../factories/temporary-folder.ts';
import { findSwift } from './swift-from-apt.ts';

export interface S3Server {
  readonly port: number;
  /** The bucket `media`, addressed by path. */
  readonly location: S3Location;
  /** Buckets also answer as `<bucket>.s3.test` in the Host header. */
  readonly domain: string;
  close(): Promise<void>;
}

const SCRIPT = fileURLToPath(new URL('s3-server.py', import.meta.url));
const REGION = 'eu-test-1';
const START_TIMEOUT_MS = 60_000;
/** Timeout for `beforeAll`, in ms: the first run on a machine downloads packages. */
export const S3_SERVER_TIMEOUT_MS = 240_000;

/**
 * Starts a throwaway S3 server that checks signatures (OpenStack Swift) with an empty bucket. It ends with this process. Throws an
 * Error that says what is missing.
 */
export async function startS3Server(): Promise<S3Server> {
  const python = await findSwift(process.env);
  const folder = ownTemporaryFolder('s3');
  const log = join(folder, 'stderr.log');
  const child = spawn(
    '/bin/sh',
    ['-c', `exec "$0" "$@" 2>'${log}'`, python.command, SCRIPT, folder, 'test', 'tester', 'testing'],
    {
      env: python.environment,
      stdio: ['pipe', 'pipe', 'ignore'],
    },
  );
  const close = async () => {
    await ended(child);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const port = await portOf(child, log);
    const location: S3Location = {
      endpoint: `http://127.0.0.1:${port}`,
      region: REGION,
      bucket: 'media',
      accessKeyId: 'test:tester',
      secretAccessKey: 'testing',
      forcePathStyle: true,
      prefix: '',
    };
    await createBucket(location);
    return { port, location, domain: 's3.test', close };
  } catch (error) {
    await close();
    throw error;
  }
}

function portOf(child: ChildProcess, log: string): Promise<number> {
  return new Promise((resolve, reject) => {
    let output = '';
    const timer = setTimeout(
      () => reject(new Error('the S3 server did not start in time')),
      START_TIMEOUT_MS,
    );
    child.stdout?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      const port = /^port (\d+)$/m.exec(output)?.[1];
      if (port !== undefined) {
        clearTimeout(timer);
        resolve(Number(port));
      }
    });
    child.once('error', reject);
    child.once('exit', (code) => {
      clearTimeout(timer);
      reject(new Error(`the S3 server ended with code ${code}: ${readFileSync(log, 'utf8').slice(-2_000)}`));
    });
  });
}

async function createBucket(location: S3Location): Promise<void> {
  const { endpoint, region, forcePathStyle, accessKeyId, secretAccessKey } = location;
  const client = new S3Client({
    endpoint,
    region,
    forcePathStyle,
    credentials: { accessKeyId, secretAccessKey },
  });
  await client.send(new CreateBucketCommand({ Bucket: location.bucket }));
  client.destroy();
}

/** Ends the process by closing its input, or by its pid when that does not help. */
function ended(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) {
      resolve();
      return;
    }
    const timer = setTimeout(() => child.kill('SIGKILL'), 5_000);
    child.once('exit', () => {
      clearTimeout(timer);
      resolve();
    });
    child.stdin?.end();
  });
}
