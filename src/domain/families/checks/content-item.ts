import { type TProperties, type TSchema, Type } from 'typebox'
import { Tagged, Unwanted } from '../../../kernel/body.ts'

/** An item of the `content` of a video: the prompt, or one of what the video is made after. */

export const mediaKinds = ['image', 'video', 'audio'] as const

export type MediaKind = (typeof mediaKinds)[number]

/** @typeParam Url what an item's media is at */
type ContentItem<Url> =
  | { readonly type: 'text'; readonly text: string }
  | ({ readonly type: `${MediaKind}_url`; readonly role?: string } & {
      readonly [Name in `${MediaKind}_url`]?: { readonly url: Url }
    })

const types = ['text', ...mediaKinds.map((kind) => `${kind}_url` as const)] as const

/**
 * Its schema: an item holds what its type says and nothing else, for a picture in a text item would not be sent.
 *
 * @param text of the prompt
 * @param media of each kind: its URL, and the role it has
 */
export function contentItem<Url>(
  text: TSchema,
  media: Readonly<Record<MediaKind, { readonly url: TSchema; readonly role: TSchema }>>,
) {
  const item = (type: string, members: TProperties) => {
    const others = types
      .filter((other) => other !== type)
      .map((other) => [
        other,
        Unwanted(`must be in an item of its own, whose \`type\` is ${other}`),
      ])
    const all = { type: Type.Literal(type), ...Object.fromEntries(others), ...members }
    return Type.Object(all, { additionalProperties: true })
  }
  return Tagged<ContentItem<Url>>('type', [
    item('text', { role: Unwanted('must be absent: text items have no role'), text }),
    ...mediaKinds.map((kind) => {
      const { url, role } = media[kind]
      const words = 'must be an object with a `url`'
      return item(`${kind}_url`, { role, [`${kind}_url`]: Type.Object({ url }, { words }) })
    }),
  ])
}

/** What an item that was read holds; its `param` is the path of it. */
export function contentOf<Url>(item: ContentItem<Url>, index: number) {
  const param = `content[${index}]`
  if (item.type === 'text') return { kind: 'text', text: item.text, param } as const
  for (const kind of mediaKinds) {
    const url = item[`${kind}_url`]?.url
    if (url !== undefined) return { kind, url, role: item.role, param } as const
  }
  return undefined
}
