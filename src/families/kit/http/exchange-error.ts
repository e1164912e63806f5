/** Why an exchange gave no complete answer. */
export class ExchangeError extends Error {
  override readonly name = 'ExchangeError'
  readonly reason: 'timeout' | 'aborted' | 'network' | 'too_large'
  /** Whether any byte of the request may have left us. */
  readonly sent: boolean

  constructor(reason: ExchangeError['reason'], sent: boolean, cause?: unknown) {
    super(`upstream exchange: ${reason}${sent ? ' after sending' : ' before sending'}`, { cause })
    this.reason = reason
    this.sent = sent
  }
}
