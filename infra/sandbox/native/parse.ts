import { Refusal } from '../http/wire.ts'
import { type Fields, isFields, NO_FIELDS, numberIn, objectsIn, textIn } from '../kit/body.ts'
import type { SandboxOptions } from '../options.ts'
import {
  type AnswerForm,
  findModel,
  type ToolChoice,
  type InputKind,
  mediumOf,
  type OfferedFunction,
  type PromptUnit,
  type TextOrder,
  textsIn,
  type TextModel,
  tokensOf,
} from '../text/order.ts'

/** A native request as far as this upstream reads it. */
export type NativeRequest = TextOrder

/** Members of other wires that this one refuses by name. */
const FOREIGN = 'max_tokens maxTokens temperature top_p topP top_k topK stop stream messages'.split(
  ' ',
)
const LEVELS: Readonly<Record<string, number>> = { minimal: 8, low: 32, medium: 64, high: 128 }
const MAX_CHOICES = 8
const DEFAULT_BUDGET = 64

function invalid(message: string): Refusal {
  return new Refusal('INVALID_ARGUMENT', message)
}

/** A member in camel case or in snake case. */
function member(fields: Fields, camel: string): unknown {
  const value = fields[camel]
  if (value !== undefined && value !== null) return value
  return fields[camel.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)] ?? undefined
}

function objectMember(fields: Fields, camel: string): Fields {
  const value = member(fields, camel)
  return isFields(value) ? value : NO_FIELDS
}

function mediumFor(part: Fields, model: TextModel, where: string): InputKind | null {
  const inline = member(part, 'inlineData')
  if (isFields(inline)) {
    const type = member(inline, 'mimeType')
    if (typeof type !== 'string' || typeof inline['data'] !== 'string' || inline['data'] === '') {
      throw invalid(`Unable to process input at ${where}: inline data needs a MIME type and data.`)
    }
    return mediumOf(type)
  }
  const file = member(part, 'fileData')
  if (!isFields(file)) return null
  const uri = member(file, 'fileUri')
  if (typeof uri !== 'string' || !/^https?:\/\//.test(uri)) {
    throw invalid(`Invalid or unsupported file uri at ${where}.`)
  }
  if (!model.files)
    throw invalid('Unable to submit request because the model takes no file by URL.')
  const type = member(file, 'mimeType')
  return mediumOf(typeof type === 'string' ? type : 'video/mp4')
}

const PART_MEMBERS =
  'text inlineData fileData functionCall functionResponse executableCode codeExecutionResult'.split(
    ' ',
  )

function unitOf(content: Fields, index: number, model: TextModel): PromptUnit {
  const media: InputKind[] = []
  const texts: string[] = []
  let role = textIn(content, 'role') ?? 'user'
  const parts = objectsIn(content['parts'])
  if (parts.length === 0) {
    throw invalid(
      `* GenerateContentRequest.contents[${index}].parts: contents.parts must not be empty.`,
    )
  }
  for (const [at, part] of parts.entries()) {
    const where = `contents[${index}].parts[${at}]`
    if (!PART_MEMBERS.some((name) => member(part, name) !== undefined)) {
      throw invalid(
        `* GenerateContentRequest.${where}.data: required oneof field 'data' must have one initialized field`,
      )
    }
    const medium = mediumFor(part, model, where)
    if (medium !== null) media.push(medium)
    const text = textIn(part, 'text')
    if (text !== null) texts.push(text)
    const called = member(part, 'functionCall') ?? member(part, 'functionResponse')
    if (called !== undefined) texts.push(JSON.stringify(called))
    if (member(part, 'functionResponse') !== undefined) role = 'tool'
  }
  return { role, text: texts.join('\n'), media, longCache: false }
}

/** The last user message's text, read without checking the rest. */
export function lastUserText(body: Fields | null): string {
  const content = objectsIn(body?.['contents']).findLast(
    (one) => one['role'] !== 'model' && objectsIn(one['parts']).some((part) => 'text' in part),
  )
  if (content === undefined) return ''
  return textsIn(content['parts'])
}

function functionsIn(tools: readonly Fields[]): readonly OfferedFunction[] {
  return tools.flatMap((tool) =>
    objectsIn(member(tool, 'functionDeclarations')).map((one) => ({
      name: textIn(one, 'name') ?? '',
      schema: member(one, 'parameters') ?? member(one, 'parametersJsonSchema'),
    })),
  )
}

const BUILTINS: Readonly<Record<string, string>> = {
  googleSearch: 'web_search',
  googleSearchRetrieval: 'web_search',
  enterpriseWebSearch: 'web_search',
  codeExecution: 'code_interpreter',
  urlContext: 'url_context',
}

function builtinsIn(tools: readonly Fields[]): readonly string[] {
  const offered = Object.entries(BUILTINS).filter(([name]) =>
    tools.some((tool) => member(tool, name) !== undefined),
  )
  return [...new Set(offered.map(([, name]) => name))]
}

function forcedBy(body: Fields): ToolChoice {
  const calling = objectMember(objectMember(body, 'toolConfig'), 'functionCallingConfig')
  if (calling['mode'] !== 'ANY') return null
  const allowed = member(calling, 'allowedFunctionNames')
  return Array.isArray(allowed) && typeof allowed[0] === 'string' ? allowed[0] : true
}

function formOf(config: Fields): AnswerForm {
  if (member(config, 'responseMimeType') !== 'application/json') return { kind: 'text' }
  const schema = member(config, 'responseSchema') ?? member(config, 'responseJsonSchema')
  return schema === undefined ? { kind: 'json' } : { kind: 'schema', schema }
}

/** Reasoning tokens of a budget or a level; null: the model's own. */
function reasoningOf(thinking: Fields): number | null {
  const budget = member(thinking, 'thinkingBudget')
  if (typeof budget === 'number') return budget < 0 ? null : Math.min(budget, DEFAULT_BUDGET)
  const level = member(thinking, 'thinkingLevel')
  return typeof level === 'string' ? (LEVELS[level.toLowerCase()] ?? null) : null
}

function limitIn(config: Fields): number | null {
  const value = member(config, 'maxOutputTokens')
  if (value === undefined) return null
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return value
  throw invalid('* GenerateContentRequest.generation_config.max_output_tokens: must be positive.')
}

/** Reads a native request to the model named in the path. @throws Refusal */
export function parseNative(
  body: Fields | null,
  name: string,
  stream: boolean,
  options: SandboxOptions,
): NativeRequest {
  const model = findModel(name, options)
  if (model === null) {
    const why = `models/${name.slice(0, 100)} is not found for API version v1beta, or is not supported for generateContent.`
    throw new Refusal('NOT_FOUND', why)
  }
  if (body === null) throw invalid('Invalid JSON payload received. Unexpected end of string.')
  const foreign = FOREIGN.find((one) => body[one] !== undefined)
  if (foreign !== undefined) {
    throw invalid(`Invalid JSON payload received. Unknown name "${foreign}": Cannot find field.`)
  }
  const { contents } = body
  if (!Array.isArray(contents) || contents.length === 0) {
    throw invalid('* GenerateContentRequest.contents: contents is not specified')
  }
  const system = member(body, 'systemInstruction')
  const said = contents.map((one, index) => unitOf(isFields(one) ? one : NO_FIELDS, index, model))
  const head = isFields(system) ? [{ ...unitOf(system, 0, model), role: 'system' }] : []
  const tools = objectsIn(body['tools'])
  const config = objectMember(body, 'generationConfig')
  const thinking = objectMember(config, 'thinkingConfig')
  const lastUser = said.findLastIndex((unit) => unit.role === 'user')
  return {
    model,
    requestedModel: name,
    stream,
    units: [...head, ...said],
    toolTokens: tools.length === 0 ? 0 : tokensOf(JSON.stringify(tools)),
    continuedTokens: 0,
    answered: said.some((unit, index) => index > lastUser && unit.role === 'tool'),
    functions: functionsIn(tools),
    builtins: builtinsIn(tools),
    unasked: [],
    singleUse: false,
    forced: forcedBy(body),
    form: formOf(config),
    maxTokens: limitIn(config),
    choices: Math.min(Math.max(1, numberIn(config, 'candidateCount') ?? 1), MAX_CHOICES),
    reasoning: reasoningOf(thinking),
    showThoughts: member(thinking, 'includeThoughts') === true,
    countsToolPrompts: true,
  }
}
