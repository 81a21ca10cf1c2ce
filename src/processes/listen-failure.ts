import { ConfigError, UnavailableError } from '../config/config-error.ts';

/** Where a process wanted to listen, and the settings that say so. */
export type ListenPlace =
  | {
      readonly host: string;
      readonly port: number;
      readonly hostSetting: 'HOST' | 'METRICS_HOST';
      readonly portSetting: 'PORT' | 'WORKER_PORT';
    }
  | { readonly path: string };

/** The host's name or address leads nowhere on this machine. */
const NOT_HERE = new Set(['ENOTFOUND', 'EADDRNOTAVAIL', 'EINVAL', 'EAFNOSUPPORT']);

/**
 * Returns one line for an error of listening: a ConfigError that names the setting, or an UnavailableError if a later start may succeed,
 * because whoever holds the port may let it go. Returns any other error as it is.
 */
export function listenFailure(error: unknown, place: ListenPlace): unknown {
  const code = (error as NodeJS.ErrnoException | null)?.code ?? '';
  return 'path' in place ? socketFailure(error, code, place.path) : addressFailure(error, code, place);
}

function socketFailure(error: unknown, code: string, path: string): unknown {
  switch (code) {
    case 'EADDRINUSE':
      return new UnavailableError(`LISTEN_SOCKET: another process listens on ${path}`);
    // what listening on a path in a folder that is missing gives, too
    case 'EACCES':
    case 'ENOENT':
    case 'ENOTDIR':
    case 'EROFS':
    case 'EPERM':
      return new ConfigError(
        `LISTEN_SOCKET: ${path} cannot be created (${code}): its folder must exist, and this account must be allowed to write to it`,
      );
    default:
      return error;
  }
}

function addressFailure(
  error: unknown,
  code: string,
  { host, port, hostSetting, portSetting }: Exclude<ListenPlace, { readonly path: string }>,
): unknown {
  if (code === 'EADDRINUSE') {
    return new UnavailableError(
      `${portSetting}: port ${port} of ${host} is in use by another program: stop that program, or choose another port`,
    );
  }
  if (code === 'EACCES') {
    return new ConfigError(
      `${portSetting}: port ${port} needs more privileges than this account has: choose 1024 or above`,
    );
  }
  if (code === 'EAI_AGAIN') {
    return new UnavailableError(`${hostSetting}: the name ${host} cannot be resolved at the moment`);
  }
  return NOT_HERE.has(code)
    ? new ConfigError(
        `${hostSetting}: ${host} is not an address of this machine (${code}): give one of its own, e.g. 127.0.0.1`,
      )
    : error;
}
