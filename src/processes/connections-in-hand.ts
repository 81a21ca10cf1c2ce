import type { Worker } from 'node:cluster';

interface Closable {
  close(): void;
}

/**
 * Node loses the connection that it has sent to a process which dies before it took it, and its client would wait for ever. Remembers the
 * last one sent of each address, which is the only one not taken yet; the function returned closes them, which is nothing for those taken.
 */
export function rememberConnections({ process }: Worker): () => void {
  const last = new Map<unknown, Closable>();
  const send = process.send.bind(process) as (...sent: unknown[]) => boolean;
  process.send = (...sent: unknown[]) => {
    const [message, connection] = sent as [{ readonly key?: unknown } | undefined, Closable | undefined];
    if (connection && typeof connection.close === 'function') {
      last.set(message?.key, connection);
    }
    return send(...sent);
  };
  return () => {
    for (const connection of last.values()) {
      connection.close();
    }
  };
}
