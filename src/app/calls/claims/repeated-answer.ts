import type { KeptAnswer } from './types.ts'

/** Ends a request that repeats another one: it is answered as that was. */
export class RepeatedAnswer extends Error {
  override readonly name = 'RepeatedAnswer'
  readonly answer: KeptAnswer

  constructor(answer: KeptAnswer) {
    super('the answer of an earlier request with this Idempotency-Key')
    this.answer = answer
  }
}
