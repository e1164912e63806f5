import { Type } from 'typebox'
import { refuse } from '../../../domain/catalog/checks/fields.ts'
import { readBody } from '../../../kernel/body.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import type { InputSize } from '../../text/rules/tokens.ts'
import {
  AnyObject,
  ModelName,
  open,
  OutputBound,
  refuseUnmetered,
  Stream,
} from '../../text/surface/bodies.ts'
import { measureInput } from '../../text/surface/input-size.ts'
import { messagesRules } from '../rules/wire.ts'

/** The body of a message. Providers of this wire refuse unknown members themselves. */

const Blocks = Type.Union([Type.String(), Type.Array(AnyObject)], {
  words: 'must be a string or an array of blocks',
  description: 'Text, or an array of blocks.',
})

const Message = Type.Object(
  { role: Type.String({ minLength: 1 }), content: Blocks },
  { named: 'Message', ...open, knownExtraFields: '*' },
)

/** Only the members that the gateway reads: new ones arrive with each release of the clients. */
export const MessagesBodySchema = Type.Object(
  {
    model: ModelName,
    max_tokens: OutputBound,
    messages: Type.Array(Message, { minItems: 1, words: { minItems: 'must not be empty' } }),
    system: Type.Optional(Blocks),
    stream: Type.Optional(Stream),
    tools: Type.Optional(Type.Array(AnyObject)),
  },
  {
    named: 'MessageRequest',
    ...open,
    description:
      'Other members are passed on, except those that change the price or the payer, and those that name something an account keeps.',
    examples: [
      { model: 'text-basic', max_tokens: 64, messages: [{ role: 'user', content: 'Hello' }] },
    ],
    knownExtraFields: '*',
  },
)

/** A messages request for the use case. */
interface MessagesRequest {
  readonly model: string
  readonly stream: boolean
  readonly body: JsonObject
  readonly inputSize: InputSize
}

/** Members that name something an account keeps; all tenants share the account (P8). */
const KEPT: ReadonlySet<string> = new Set([
  'file_id',
  'previous_message_id',
  'container',
  'container_id',
  'skill_id',
  'thread',
  'thread_id',
])

/** Members whose objects are the caller's or the model's own, so that names mean nothing in them. */
const ofTools: ReadonlySet<string> = new Set(['input_schema', 'input_examples'])
const TOOL_USE = /tool_use$/

function isOwn(name: string, { type }: JsonObject, isTool: boolean): boolean {
  if (isTool) return ofTools.has(name)
  return name === 'input' && typeof type === 'string' && TOOL_USE.test(type)
}

/** Nesting is bounded where bodies are read. @throws DomainError `invalid_request` */
function refuseKept(value: unknown, path: string, isTool = false): void {
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1)
      refuseKept(value[index], `${path}[${index}]`, path === 'tools')
    return
  }
  if (!isJsonObject(value)) return
  for (const name in value) {
    const member = value[name]
    if (typeof member === 'string') {
      if (KEPT.has(name)) refuseAt(path, name)
    } else if (typeof member === 'object' && member !== null && !isOwn(name, value, isTool))
      refuseKept(member, path === '' ? name : `${path}.${name}`)
  }
}

function refuseAt(path: string, name: string): never {
  const at = path === '' ? name : `${path}.${name}`
  return refuse(
    at,
    `\`${at}\` is not offered: it names something that the model service keeps; send the content itself or its URL`,
  )
}

/** Members that choose the payer, or a price that only the account knows. */
const ofPayer = ['fallback_credit_token', 'billing_policy', 'user_profile_id', 'workspace_id']

const isGivenIn = (sent: JsonObject, name: string): boolean =>
  Object.hasOwn(sent, name) && sent[name] !== null

/** Members that are measured separately, or are no input. */
const measured: ReadonlySet<string> = new Set(
  `model messages system tools metadata thinking output_config context_management cache_control
  tool_choice stop_sequences`.split(/\s+/),
)

/** @throws DomainError `invalid_request`, naming the field */
export function readMessages(sent: JsonObject): MessagesRequest {
  const { model, stream = false, tools = [] } = readBody(MessagesBodySchema, sent)
  for (const [index, tool] of tools.entries())
    if (isJsonObject(tool)) refuseUnmetered(messagesRules, tool, `tools[${index}]`)
  refuseKept(sent, '')
  for (const name of ofPayer)
    if (isGivenIn(sent, name))
      refuse(name, `\`${name}\` is not accepted here: the gateway chooses the account that pays`)
  const { model: _model, stream: _stream, ...body } = sent
  return {
    model,
    stream,
    body,
    inputSize: measureInput([sent['system'], sent['messages']], [sent['tools']], sent, measured),
  }
}
