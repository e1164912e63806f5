import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import {
  isPresent,
  optionalBoolean,
  optionalChoice,
  optionalInteger,
  own,
  refuse,
} from '../../../domain/families/checks/fields.ts'
import { type ArtBModel, MAX_GROUP } from './models.ts'

/** Several pictures of one request, streams and web search: what some models alone have. */
export interface GroupWishes {
  /** Most pictures that are asked for. */
  readonly count: number
  readonly streamed: boolean
  readonly searches: boolean
  /** As upstream takes it. */
  readonly body: JsonObject
}

const OPTIONS = 'sequential_image_generation_options'

/** @throws RequestError naming the member */
export function acceptGroup(fields: JsonObject, model: ArtBModel, references: number): GroupWishes {
  const mode = optionalChoice(fields, 'sequential_image_generation', ['auto', 'disabled'])
  const streamed = optionalBoolean(fields, 'stream') ?? false
  const searches = acceptTools(fields)
  const most = acceptMost(fields)
  if (!model.makesGroups) refuseGroups(model, { mode, streamed, searches, most })
  if (mode !== 'auto')
    return { count: 1, streamed, searches, body: searches ? { tools: SEARCH } : {} }
  const room = MAX_GROUP - references
  if ((most ?? 1) > room)
    return refuse(
      `${OPTIONS}.max_images`,
      `\`${OPTIONS}.max_images\` must be at most ${room}: with the pictures sent along a group has at most ${MAX_GROUP}`,
    )
  const count = most ?? room
  return {
    count,
    streamed,
    searches,
    body: {
      sequential_image_generation: mode,
      // Always said: what is held for the call depends on it.
      [OPTIONS]: { max_images: count },
      ...(searches ? { tools: SEARCH } : {}),
    },
  }
}

function refuseGroups(
  { name }: ArtBModel,
  asked: {
    readonly mode: string | undefined
    readonly streamed: boolean
    readonly searches: boolean
    readonly most: number | undefined
  },
): void {
  if (asked.mode === 'auto' || asked.most !== undefined)
    refuse('sequential_image_generation', `${name} makes no groups of images`)
  if (asked.streamed) refuse('stream', `${name} does not stream`)
  if (asked.searches) refuse('tools', `${name} does not search the web`)
}

function acceptMost(fields: JsonObject): number | undefined {
  if (!isPresent(fields, OPTIONS)) return undefined
  const options = own(fields, OPTIONS)
  if (!isJsonObject(options)) return refuse(OPTIONS, `\`${OPTIONS}\` must be an object`)
  const other = Object.keys(options).find((name) => name !== 'max_images')
  if (other !== undefined)
    return refuse(`${OPTIONS}.${other}`, `\`${OPTIONS}\` takes \`max_images\` alone`)
  if (!isPresent(options, 'max_images')) return undefined
  const param = `${OPTIONS}.max_images`
  return optionalInteger({ [param]: options['max_images'] }, param, 1, MAX_GROUP)
}

const SEARCH = [{ type: 'web_search' }] as const

/** Whether the web may be searched: the one tool there is. */
function acceptTools(fields: JsonObject): boolean {
  const tools = own(fields, 'tools')
  if (tools === undefined) return false
  if (!Array.isArray(tools)) return refuse('tools', '`tools` must be an array')
  const other = tools.findIndex((tool) => !isJsonObject(tool) || own(tool, 'type') !== 'web_search')
  if (other !== -1)
    return refuse(`tools[${other}]`, `\`tools[${other}]\` must be {"type":"web_search"}`)
  return tools.length > 0
}
