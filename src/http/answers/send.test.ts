import { AppError } from '../../lib/errors.ts';
import { toAppError } from './send.ts';

const withCode = (code: string, message = 'x'): Error => Object.assign(new Error(message), { code });

describe('toAppError', () => {
  test('returns an error that clients may see as it is', () => {
    const error = new AppError('key_not_found', 'none');
    expect(toAppError(error)).toBe(error);
  });

  test.each<[string, unknown]>([
    ['a refused connection', withCode('ECONNREFUSED')],
    ['a server that is shutting down', withCode('57P01')],
    ['a server that is starting up', withCode('57P03')],
    ['too many connections', withCode('53300')],
    ['a full disk', withCode('53100')],
    ['a read-only server', withCode('25006')],
    ['a full disk reported by Sequelize', Object.assign(new Error('x'), { parent: withCode('53100') })],
    ['a pool that stays empty for too long', new Error('timeout exceeded when trying to connect')],
    ['a statement without an answer', new Error('Query read timeout')],
    [
      'a connection error of Sequelize',
      Object.assign(new Error('x'), { name: 'SequelizeConnectionRefusedError' }),
    ],
    ['a media storage that answers 400', Object.assign(new Error('x'), { isOutage: true, status: 400 })],
    ['an outage as a cause', new Error('outer', { cause: withCode('ECONNRESET') })],
  ])('%s is a 503 that can be retried', (_, thrown) => {
    expect(toAppError(thrown)).toMatchObject({
      code: 'service_unavailable',
      status: 503,
      retryAfterSeconds: 1,
    });
  });

  test.each<[string, unknown]>([
    ['a bug', new TypeError('secret')],
    ['a broken constraint', withCode('23505', 'secret')],
    ['a string', 'secret'],
    ['nothing', undefined],
  ])('%s is a 500 that reveals nothing', (_, thrown) => {
    const error = toAppError(thrown);
    expect([error.code, error.status]).toEqual(['internal_error', 500]);
    expect(error.message).not.toContain('secret');
    expect(error.cause).toBe(thrown);
  });
});
