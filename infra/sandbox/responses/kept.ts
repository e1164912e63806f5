import { type Fields, objectsIn, textIn } from '../kit/body.ts'
import { Refusal } from '../http/wire.ts'

const MAX_KEPT = 20_000

/**
 * What an account keeps of its responses: the length of each conversation, and the items of their
 * output. Another credential is another account and has none of it.
 */
export class KeptResponses {
  readonly #conversations = new Map<string, number>()
  readonly #items = new Map<string, Fields>()

  /** Tokens of what is continued; 0 for nothing. @throws Refusal for an id that is not kept. */
  continued(body: Fields, credential: string): number {
    const id = textIn(body, 'previous_response_id')
    if (id === null) return 0
    const tokens = this.#conversations.get(key(credential, id))
    if (tokens !== undefined) return tokens
    const why = `Previous response with id '${id}' not found.`
    throw new Refusal('previous_response_not_found', why, 'previous_response_id')
  }

  /** Keeps a response of so many tokens, input included, unless it asked not to be kept. */
  keep(
    body: Fields,
    credential: string,
    response: {
      readonly id: string
      readonly tokens: number
      readonly items: readonly Fields[]
    },
  ): void {
    if (body['store'] === false) return
    put(this.#conversations, key(credential, response.id), response.tokens)
    for (const item of response.items) {
      const id = textIn(item, 'id')
      if (id !== null) put(this.#items, key(credential, id), item)
    }
  }

  reset(): void {
    this.#conversations.clear()
    this.#items.clear()
  }

  /**
   * The request with what was answered in place of items that only name it. An item of reasoning is
   * looked up too, unless it brings its content along. @throws Refusal for one that is not kept.
   */
  withItems(body: Fields, credential: string): Fields {
    const { input } = body
    if (!Array.isArray(input)) return body
    return { ...body, input: input.map((one: unknown) => this.#itemOf(one, credential)) }
  }

  #itemOf(given: unknown, credential: string): unknown {
    const [item] = objectsIn([given])
    const id = item === undefined ? null : textIn(item, 'id')
    if (item === undefined || id === null) return given
    const type = textIn(item, 'type')
    const isNamed = type === 'item_reference' || (type === null && (item['role'] ?? null) === null)
    const isThought = type === 'reasoning' && textIn(item, 'encrypted_content') === null
    if (!isNamed && !isThought) return given
    const kept = this.#items.get(key(credential, id))
    if (kept !== undefined) return isNamed ? kept : given
    throw new Refusal('item_not_found', `Item with id '${id}' not found.`, 'input')
  }
}

function key(credential: string, id: string): string {
  return `${credential}\n${id}`
}

function put<Value>(kept: Map<string, Value>, id: string, value: Value): void {
  kept.set(id, value)
  if (kept.size <= MAX_KEPT) return
  const oldest = kept.keys().next()
  if (oldest.done !== true) kept.delete(oldest.value)
}
