import type { Mount, Surface } from '../api/kit/routes/surface.ts'
import { audioSurface } from '../api/v1/audio.ts'
import type { Speaker } from '../app/calls/speaker.ts'
import type { AssetProvider } from '../app/ports/assets.ts'
import type { ChannelSettings } from '../app/channels/settings.ts'
import type { CrashPoint } from '../app/crash-points.ts'
import type { ImageProvider } from '../app/ports/images.ts'
import type { MediaProvider } from '../app/ports/media.ts'
import type { SandboxAccount, TaskProvider } from '../app/ports/provider.ts'
import { type Catalog, createCatalog, type FamilyRules } from '../domain/catalog/catalog.ts'
import type { EventLog } from '../eventlog/log/types.ts'
import { invariant } from '../kernel/assert.ts'
import type { Clock } from '../kernel/clock.ts'

/** A provider family: a folder here, one in `infra/sandbox`, and a line in each list. */
export interface FamilyModule {
  readonly rules: FamilyRules
  /** Settings of its entries in the channel file, in addition to those of every entry. */
  readonly channel?: ChannelSettings
  /** The accounts by which the sandbox is its upstream. */
  readonly sandbox: readonly SandboxAccount[]
  /** The family's prefixes, which are answered in its error shape before its routes are there. */
  readonly mounts?: readonly Mount[]
  /** Makes its routes and its upstream adapters. */
  readonly open: (deps: FamilyDeps) => OpenedFamily
}

/** Dependencies of a family in a running process, in addition to those of every surface. */
export interface FamilyDeps {
  readonly log: EventLog
  readonly clock: Clock
  /** The machine's clock: upstreams compare dates of signed requests with theirs. */
  readonly upstreamClock: Clock
  /** Secret from which ids and names for callers and upstream are derived. */
  readonly markerSecret: string
  readonly crashPoint: CrashPoint
}

/**
 * The id of the call that gave an answer, by an id that only its tenant can use. Undefined for any
 * other text, for another tenant, and for an id of an older release.
 */
type CallOfAnswer = (tenantId: string, answerId: string) => string | undefined

/** A family in a running process: its upstream adapters, and its routes, which may use them. */
interface OpenedFamily {
  readonly tasks?: TaskProvider
  readonly images?: ImageProvider
  /** The provider of files that its accounts keep for callers. */
  readonly media?: MediaProvider
  /** The provider of the asset libraries of its accounts. */
  readonly library?: AssetProvider
  /** Speaks for `/v1/audio/speech`, the one path of all that do. */
  readonly speaker?: Speaker
  readonly surfaces?: readonly Surface[]
  /** Finds the call behind a sealed id of its answers. */
  readonly callOfAnswer?: CallOfAnswer
  /** Closes every connection; calls in flight fail. */
  readonly close: () => Promise<void>
}

/** All families of a process, by capability. */
export interface OpenedFamilies {
  readonly tasks: ReadonlyMap<string, TaskProvider>
  readonly images: ReadonlyMap<string, ImageProvider>
  readonly media: ReadonlyMap<string, MediaProvider>
  readonly library: AssetProvider
  readonly surfaces: readonly Surface[]
  /** Finds the call behind a sealed id of any family. */
  readonly callOfAnswer: CallOfAnswer
  readonly close: () => Promise<void>
}

/** The catalog of a list, for code that looks up families by kind instead of by name. */
export function catalogOf(families: readonly FamilyModule[]): Catalog {
  return createCatalog(families.map(({ rules }) => rules))
}

/** Settings of entries of the channel file, by the name of their family. */
export function channelSettingsOf(
  families: readonly FamilyModule[],
): ReadonlyMap<string, ChannelSettings> {
  return new Map(
    families.flatMap(({ rules, channel }) =>
      channel === undefined ? [] : [[rules.name, channel] as const],
    ),
  )
}

/** Opens every family of a list. */
export function openFamilies(families: readonly FamilyModule[], deps: FamilyDeps): OpenedFamilies {
  const opened = families.map(({ rules, open }) => ({ name: rules.name, ...open(deps) }))
  const allOf = <Kind extends 'tasks' | 'images' | 'media'>(kind: Kind) =>
    new Map(
      opened.flatMap((family) => {
        const adapter = family[kind]
        return adapter === undefined ? [] : [[family.name, adapter] as const]
      }),
    )
  const library = opened.find((family) => family.library !== undefined)?.library
  invariant(library, 'a family has the adapter of the asset library')
  return {
    tasks: allOf('tasks'),
    images: allOf('images'),
    media: allOf('media'),
    library,
    surfaces: [
      ...opened.flatMap(({ surfaces = [] }) => surfaces),
      audioSurface(opened.flatMap(({ speaker }) => speaker ?? [])),
    ],
    callOfAnswer: (tenantId, answerId) => {
      for (const { callOfAnswer } of opened) {
        const callId = callOfAnswer?.(tenantId, answerId)
        if (callId !== undefined) return callId
      }
      return undefined
    },
    close: async () => {
      await Promise.all(opened.map((family) => family.close()))
    },
  }
}
