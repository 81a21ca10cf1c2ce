import { AppError } from '../../lib/errors.ts';

/** A refusal of one member of a request. The envelope is closed, so its path also stands in the message. */
export class FieldError extends AppError {
  /** Path of the member, e.g. `messages[0].content`. */
  readonly field: string;

  constructor(field: string, message: string) {
    super('invalid_parameter', `${field}: ${message}`);
    this.field = field;
  }
}
