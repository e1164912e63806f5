import { Refusal } from '../http/wire.ts'
import { type Fields, objectsIn, textIn } from '../kit/body.ts'

const MAX_KEPT = 20_000

/**
 * An account keeps this of its responses: the length of each conversation, and the items of their
 * output. Another credential is another account and has none of it.
 */
export class KeptResponses {
  readonly #conversations = new Map<string, number>()
  readonly #items = new Map<string, Fields>()
  readonly #responses = new Map<
    string,
    { readonly body: object; readonly itemIds: readonly string[] }
  >()

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
      readonly body: object
    },
  ): void {
    if (body['store'] === false) return
    put(this.#conversations, key(credential, response.id), response.tokens)
    const itemIds: string[] = []
    for (const item of response.items) {
      const id = textIn(item, 'id')
      if (id === null) continue
      put(this.#items, key(credential, id), item)
      itemIds.push(id)
    }
    put(this.#responses, key(credential, response.id), { body: response.body, itemIds })
  }

  /** @throws Refusal for one that is not kept. */
  get(id: string, credential: string): object {
    return this.#responseOf(id, credential).body
  }

  /** Forgets a response and the items of its output. @throws Refusal for one that is not kept. */
  delete(id: string, credential: string): object {
    for (const itemId of this.#responseOf(id, credential).itemIds)
      this.#items.delete(key(credential, itemId))
    this.#conversations.delete(key(credential, id))
    this.#responses.delete(key(credential, id))
    return { id, object: 'response', deleted: true }
  }

  #responseOf(id: string, credential: string) {
    const kept = this.#responses.get(key(credential, id))
    if (kept !== undefined) return kept
    throw new Refusal('response_not_found', `Response with id '${id}' not found.`, 'id')
  }

  reset(): void {
    this.#conversations.clear()
    this.#items.clear()
    this.#responses.clear()
  }

  /**
   * The request with kept items in place of references. A reasoning item is looked up too, unless
   * it includes its content. @throws Refusal for one that is not kept.
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
