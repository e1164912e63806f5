/** Names this upstream has voices of for everybody. */
const BUILT_IN =
  /^(?:(?:male|female)-[a-z-]+|presenter_(?:male|female)|audiobook_(?:male|female)_[12]|clever_boy|cute_boy|lovely_girl|[A-Z][a-z]+(?: \([A-Z][a-z]+\))?_[A-Z]\w+)$/

/** The voices there are: built in, and cloned by an account. */
export class Voices {
  readonly #cloned = new Map<string, string>()

  /** Whether an account may speak with a voice. */
  has(voiceId: string, credential: string): boolean {
    return this.#cloned.get(voiceId) === credential || BUILT_IN.test(voiceId)
  }

  /** False where some account has one of that name already. */
  add(voiceId: string, credential: string): boolean {
    if (this.#cloned.has(voiceId) || BUILT_IN.test(voiceId)) return false
    this.#cloned.set(voiceId, credential)
    return true
  }

  /** As happens to a voice that nobody uses. */
  drop(voiceId: string): void {
    this.#cloned.delete(voiceId)
  }

  reset(): void {
    this.#cloned.clear()
  }
}
