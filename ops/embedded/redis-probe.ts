import { connect } from 'node:net';

export type RedisServerFacts = { pid: number; version: string; folder: string };

/**
 * Asks a Redis on the loopback address for its process id, version and folder: the proof that it answers, knows our
 * password and is ours. Undefined when it does not within `timeoutMs`, refuses, or is still loading.
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

/** Sends the commands in one piece and returns all that came back until the server closed or the time was over. */
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
