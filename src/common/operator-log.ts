/** What the operator is told besides the line a request: fields first, then a text that stays the same. */
export abstract class OperatorLog {
  abstract info(fields: object, text: string): void;
  abstract warn(fields: object, text: string): void;
  abstract error(fields: object, text: string): void;
}
