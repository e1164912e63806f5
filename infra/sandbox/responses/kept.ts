import { TextRefusal } from '../text/errors.ts'
import { objectsIn, textIn, type Fields } from '../text/fields.ts'

const MAX_KEPT = 20_000

/**
 * What an account keeps of its responses: the length of each conversation, and that there was a
 * thought of an id. Another credential is another account and has none of it.
 */
export class KeptResponses {
  readonly #conversations = new Map<string, number>()
  readonly #thoughts = new Map<string, true>()

  /** Tokens of what is continued; 0 for nothing. @throws TextRefusal for an id that is not kept. */
  continued(body: Fields, credential: string): number {
    this.#checkThoughts(body, credential)
    const id = textIn(body, 'previous_response_id')
    if (id === null) return 0
    const tokens = this.#conversations.get(key(credential, id))
    if (tokens !== undefined) return tokens
    const why = `Previous response with id '${id}' not found.`
    throw new TextRefusal('previous_response_not_found', why, 'previous_response_id')
  }

  /** Keeps a response of so many tokens, input included, unless it asked not to be kept. */
  keep(
    body: Fields,
    credential: string,
    response: {
      readonly id: string
      readonly tokens: number
      readonly thoughts: readonly string[]
    },
  ): void {
    if (body['store'] === false) return
    put(this.#conversations, key(credential, response.id), response.tokens)
    for (const id of response.thoughts) put(this.#thoughts, key(credential, id), true)
  }

  reset(): void {
    this.#conversations.clear()
    this.#thoughts.clear()
  }

  /** An item of reasoning is looked up by its id, unless it brings its content along. */
  #checkThoughts(body: Fields, credential: string): void {
    for (const item of objectsIn(body['input'])) {
      const id = textIn(item, 'id')
      const isLookedUp = item['type'] === 'reasoning' && textIn(item, 'encrypted_content') === null
      if (id === null || !isLookedUp || this.#thoughts.has(key(credential, id))) continue
      throw new TextRefusal('item_not_found', `Item with id '${id}' not found.`, 'input')
    }
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
