import { connect } from 'node:net';

export type RedisServerFacts = { pid: number; version: string; folder: string };

/**
 * Asks a Redis on the loopback address for its process id, version and folder, which proves that it responds, accepts our
 * password and is ours. Resolves with undefined when it does not respond within `timeoutMs`, refuses, or is still loading.
 */
export async function probeRedis(
  port: number,
  password: string,
  timeoutMs = 2_000,
): Promise<RedisServerFacts | undefined> {
  const reply = await sendInline(port, timeoutMs, [
    `AUTH ${password}`,
    'PING',
    'INFO server',
    'CONFIG GET dir',
    'QUIT',
  ]);
  const pid = Number(/process_id:(\d+)/.exec(reply)?.[1]);
  const version = /redis_version:(\S+)/.exec(reply)?.[1];
  const folder = /\$3\r\ndir\r\n\$\d+\r\n([^\r]*)\r\n/.exec(reply)?.[1];
  if (!reply.includes('+PONG') || version === undefined || folder === undefined || !Number.isInteger(pid)) {
    return undefined;
  }
  return { pid, version, folder };
}

/** Sends the commands at once and returns everything received until the server closed the connection or the timeout expired. */
function sendInline(port: number, timeoutMs: number, commands: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    let reply = '';
    const socket = connect({ host: '127.0.0.1', port });
    const finish = () => {
      clearTimeout(timer);
      socket.destroy();
      resolve(reply);
    };
    const timer = setTimeout(finish, timeoutMs);
    socket.on('connect', () => socket.write(`${commands.join('\r\n')}\r\n`));
    socket.on('data', (chunk) => {
      reply += chunk.toString();
    });
    socket.on('error', finish);
    socket.on('close', finish);
  });
}
