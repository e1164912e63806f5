import { assetEvents } from './asset/events.ts'
import { assetGroupEvents } from './asset-group/events.ts'
import { callEvents, writeOffEvents } from './call/events.ts'
import { fileEvents } from './file/events.ts'
import { taskEvents } from './task/events.ts'
import { uploadEvents } from './upload/events.ts'
import { verificationEvents } from './verification/events.ts'
import { voiceEvents } from './voice/events.ts'

/** The kinds of things that have a life, by the events of each. Every list of such kinds follows from this one. */
const eventsByKind = {
  task: taskEvents,
  call: { ...callEvents, ...writeOffEvents },
  asset: assetEvents,
  asset_group: assetGroupEvents,
  verification: verificationEvents,
  file: fileEvents,
  upload: uploadEvents,
  voice: voiceEvents,
} as const

export type LifeKind = keyof typeof eventsByKind
export const lifeKinds = Object.keys(eventsByKind) as readonly LifeKind[]

/** Kinds of lives that are billed: each of these has a receipt. */
export const billedLifeKinds = ['task', 'call'] as const satisfies readonly LifeKind[]
export type BilledLifeKind = (typeof billedLifeKinds)[number]
export type UnbilledLifeKind = Exclude<LifeKind, BilledLifeKind>

const kindByType: ReadonlyMap<string, LifeKind> = new Map(
  lifeKinds.flatMap((kind) => Object.keys(eventsByKind[kind]).map((type) => [type, kind] as const)),
)

/** The kind of life that an event of this type is a part of; undefined for an event of no life, and for notes. */
export function lifeKindOf(type: string): LifeKind | undefined {
  return kindByType.get(type)
}

export function isLifeKind(kind: string): kind is LifeKind {
  return Object.hasOwn(eventsByKind, kind)
}

export function isUnbilled(kind: LifeKind | undefined): kind is UnbilledLifeKind {
  return kind !== undefined && !billedLifeKinds.some((billed) => billed === kind)
}
