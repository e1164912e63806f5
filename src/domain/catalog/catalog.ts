import { invariant } from '../../kernel/assert.ts'
import { nearestAmong } from '../../kernel/nearest-name.ts'
import { createTaskDecider } from '../task/decider.ts'
import { type BilledSku, emptyPriceBook, type PriceBook } from '../pricing/price-book.ts'
import type { UploadPurpose } from '../upload/events.ts'
import type { CallFamilyRules } from './call-rules.ts'
import { type ImageFamilyRules, imageCallRules, imageTaskRules } from './image-rules.ts'
import type { SimpleVideoRules } from './simple-video.ts'
import type { TaskFamilyRules, TaskModel } from './task-rules.ts'

/** The families, for code that knows none of them by name. */

/** Maximum number of SKUs of one request that are compared with sold ones: a person reads no more, and other callers wait. */
const MAX_COMPARED_SKUS = 500

/** A record whose requests and answers only its own family can make. */
export type AnyCallFamilyRules = CallFamilyRules<never, never>

/** Rules of a provider family. Pure; it has at least one of `tasks`, `calls` and `images`. */
export interface FamilyRules {
  /**
   * The family's name in channel files, events and metrics. A family that is no longer offered keeps its
   * rules: old events need them.
   */
  readonly name: string
  /** The rules of its asynchronous tasks. */
  readonly tasks?: TaskFamilyRules
  /**
   * Rules of its synchronous calls. Families with the same prices and rules, such as the text
   * wires, share one record.
   */
  readonly calls?: AnyCallFamilyRules
  /** Rules of images, for calls and tasks: both work the same in every family of images. */
  readonly images?: ImageFamilyRules
  /** Purposes of callers' files that its accounts keep. */
  readonly uploads?: Readonly<Partial<Record<UploadPurpose, KeptUpload>>>
  /** Paths at which a model of its calls is asked for, as `/v1/models` shows them. */
  readonly endpoints?: (model: string) => readonly string[]
}

/** Accounts of a family that take the uploads of a purpose, and their maximum size. */
interface KeptUpload {
  /** Only an account that offers this model is chosen. */
  readonly model?: string
  readonly maxBytes: number
}

/** The rules with the name of the family, which channels have in `family`. */
interface UploadPlace extends KeptUpload {
  readonly family: string
}

/** A model some channel serves. */
export interface ServedModel {
  readonly family: string
  /** External name. */
  readonly model: string
}

/** A family of videos whose tasks callers can create without knowing the family. */
type VideoFamily = TaskFamilyRules & { readonly simpleVideo: SimpleVideoRules }

/** A SKU that is not sold, and the sold SKU that differs from it by a letter or two. */
export interface UnsoldSku {
  readonly sku: string
  readonly meant: string | undefined
}

export interface Catalog {
  /** Every name that a channel may give as its `family`. */
  readonly familyNames: readonly string[]
  /** Rules of tasks by the name of their family. */
  readonly taskFamilies: ReadonlyMap<string, TaskFamilyRules>
  /** The rules of the family that an event or a row names. An unknown name is a defect. */
  readonly taskFamily: (name: string) => TaskFamilyRules
  /** The life of a task of any family. */
  readonly taskDecider: ReturnType<typeof createTaskDecider>
  readonly videoFamilies: readonly VideoFamily[]
  readonly imageFamilies: readonly ImageFamilyRules[]
  /** The model of a task of any family by its external name or an alias. */
  readonly findTaskModel: (name: string) => TaskModel | undefined
  /** A model whose tasks may use assets, and its family; undefined for any other name. */
  readonly findAssetModel: (
    name: string,
  ) => { readonly family: string; readonly model: TaskModel } | undefined
  /** The rules of the calls that a channel of this family serves; undefined where it serves tasks. */
  readonly callFamilyOf: (family: string) => AnyCallFamilyRules | undefined
  /** The calls whose catalog has this name; undefined where a channel may choose it freely. */
  readonly callFamilyOfModel: (name: string) => AnyCallFamilyRules | undefined
  /** The family of images that a name or an alias of a model belongs to. */
  readonly imageFamilyOf: (model: string) => ImageFamilyRules | undefined
  /**
   * Resolves a version alias of any family to its external name; returns every other name
   * unchanged.
   */
  readonly externalModelName: (name: string) => string
  /** Every name that a family takes, aliases too; the names of text models are the channels' own. */
  readonly modelNames: ReadonlySet<string>
  /** Family and limits for uploads of a purpose. An unknown purpose is a defect. */
  readonly uploadPlace: (purpose: UploadPurpose) => UploadPlace
  /** The size of the largest upload there is. */
  readonly maxUploadBytes: number
  /** Paths at which calls of a family for a model are made. */
  readonly endpointsOf: (family: string, model: string) => readonly string[]
  /** The model that a SKU is of by its form, where channels choose the names of models. */
  readonly freeModelOf: (sku: string) => string | undefined
  /** The unit that a SKU counts; undefined where no settlement can use the SKU. */
  readonly unitOf: (sku: string) => string | undefined
  /** Every SKU by which a model may be billed; `settings` are those of its channels. */
  readonly billedSkus: (
    served: ServedModel,
    book: PriceBook,
    settings: readonly unknown[],
  ) => readonly BilledSku[]
  /** Every SKU that a settlement can use; `served` is what channels serve. */
  readonly soldSkus: (served: readonly ServedModel[]) => ReadonlySet<string>
  /**
   * The SKUs that no settlement can use: typos, or SKUs of a future model. If `served` is
   * undefined, any name that channels may choose counts as served.
   */
  readonly unsoldSkus: (
    skus: readonly string[],
    served: readonly ServedModel[] | undefined,
  ) => readonly UnsoldSku[]
}

/** An unsold SKU in words. */
export function unsoldInWords({ sku, meant }: UnsoldSku): string {
  return meant === undefined ? sku : `${sku} (did you mean ${meant}?)`
}

/** Makes the catalog of a list of families: no two may have the same name, model or upload purpose. */
export function createCatalog(families: readonly FamilyRules[]): Catalog {
  const tasks = families.flatMap(({ tasks, images }) => [
    ...(tasks === undefined ? [] : [tasks]),
    ...(images === undefined ? [] : [imageTaskRules(images)]),
  ])
  const calls: CallRules = new Map(
    families.flatMap(({ name, calls, images }) => {
      const rules = images === undefined ? calls : imageCallRules(images)
      return rules === undefined ? [] : [[name, rules] as const]
    }),
  )
  const taskFamilies = new Map(tasks.map((rules) => [rules.family, rules]))
  const taskFamily = (name: string): TaskFamilyRules => {
    const rules = taskFamilies.get(name)
    invariant(rules, `no family of tasks was ever dropped: ${name}`)
    return rules
  }
  return {
    familyNames: families.map(({ name }) => name),
    taskFamilies,
    taskFamily,
    taskDecider: createTaskDecider(taskFamily),
    videoFamilies: tasks.flatMap((rules) =>
      rules.simpleVideo === undefined ? [] : [{ ...rules, simpleVideo: rules.simpleVideo }],
    ),
    findTaskModel: (name) => {
      for (const rules of tasks) {
        const model = rules.resolve(name)
        if (model !== undefined) return model
      }
      return undefined
    },
    findAssetModel: (name) => {
      for (const { family, takesAssets, resolve } of tasks) {
        const model = takesAssets ? resolve(name) : undefined
        if (model !== undefined) return { family, model }
      }
      return undefined
    },
    endpointsOf: (family, model) =>
      families.find(({ name }) => name === family)?.endpoints?.(model) ?? [],
    ...callsOf(families, calls),
    ...uploadsOf(families),
    ...namesOf(tasks, calls),
    ...soldBy(tasks, calls),
  }
}

/** Families by name. */
type CallRules = ReadonlyMap<string, AnyCallFamilyRules>

type OfCalls = 'callFamilyOf' | 'callFamilyOfModel' | 'imageFamilyOf' | 'imageFamilies'

function callsOf(families: readonly FamilyRules[], calls: CallRules): Pick<Catalog, OfCalls> {
  const imageFamilies = families.flatMap(({ images }) => (images === undefined ? [] : [images]))
  const imagesByModel = new Map(
    imageFamilies.flatMap((family) =>
      [...family.models, ...(family.aliases?.keys() ?? [])].map((name) => [name, family] as const),
    ),
  )
  return {
    imageFamilies,
    callFamilyOf: (family) => calls.get(family),
    callFamilyOfModel: (name) =>
      [...calls.values()].find(
        ({ models, aliases }) => models?.includes(name) === true || aliases?.has(name) === true,
      ),
    imageFamilyOf: (model) => imagesByModel.get(model),
  }
}

function uploadsOf(
  families: readonly FamilyRules[],
): Pick<Catalog, 'uploadPlace' | 'maxUploadBytes'> {
  const places = new Map<string, UploadPlace>()
  for (const { name: family, uploads = {} } of families)
    for (const [purpose, kept] of Object.entries(uploads)) places.set(purpose, { family, ...kept })
  return {
    maxUploadBytes: Math.max(0, ...[...places.values()].map(({ maxBytes }) => maxBytes)),
    uploadPlace: (purpose) => {
      const place = places.get(purpose)
      invariant(place, `a family keeps what is uploaded for ${purpose}`)
      return place
    },
  }
}

function namesOf(
  tasks: readonly TaskFamilyRules[],
  calls: CallRules,
): Pick<Catalog, 'externalModelName' | 'modelNames'> {
  const callRules = [...calls.values()]
  const byAlias = new Map([
    ...tasks.flatMap(({ models }) =>
      models.flatMap(({ name, aliases }) => aliases.map((alias) => [alias, name] as const)),
    ),
    ...callRules.flatMap(({ aliases }) => [...(aliases ?? [])]),
  ])
  return {
    externalModelName: (name) => byAlias.get(name) ?? name,
    modelNames: new Set([
      ...tasks.flatMap(({ models }) => models.map(({ name }) => name)),
      ...callRules.flatMap(({ models }) => models ?? []),
      ...byAlias.keys(),
    ]),
  }
}

function soldBy(
  tasks: readonly TaskFamilyRules[],
  calls: CallRules,
): Pick<Catalog, 'freeModelOf' | 'unitOf' | 'billedSkus' | 'soldSkus' | 'unsoldSkus'> {
  const free = [...new Set(calls.values())].flatMap(({ freeSkus }) => freeSkus ?? [])
  const ofModels = [
    ...tasks.flatMap(({ models, prices }) => models.flatMap(({ name }) => prices(name))),
    ...[...calls.values()].flatMap(({ models = [], prices }) =>
      models.flatMap((model) => prices(model, emptyPriceBook, [])),
    ),
  ]
  /** The unit of each SKU whose name is fixed. */
  const fixed: ReadonlyMap<string, string> = new Map([
    ...ofModels.map(({ sku, unit }) => [sku, unit] as const),
    ...[...calls.values()].flatMap(({ furtherSkus = [] }) => [...furtherSkus]),
  ])
  const freeModelOf = (sku: string): string | undefined =>
    fixed.has(sku) ? undefined : free.map(({ modelOf }) => modelOf(sku)).find(Boolean)
  const soldSkus = (served: readonly ServedModel[]): ReadonlySet<string> =>
    new Set([
      ...fixed.keys(),
      ...served.flatMap(({ family, model }) => calls.get(family)?.freeSkus?.of(model) ?? []),
    ])
  return {
    freeModelOf,
    unitOf: (sku) => fixed.get(sku) ?? free.map(({ unitOf }) => unitOf(sku)).find(Boolean),
    billedSkus: ({ family, model }, book, settings) => {
      const ofTasks = tasks.find((rules) => rules.family === family && rules.resolve(model))
      const billed = [
        ...(calls.get(family)?.prices(model, book, settings) ?? []),
        ...(ofTasks?.prices(model) ?? []),
      ]
      return [...new Map(billed.map((one) => [`${one.currency} ${one.sku}`, one])).values()]
    },
    soldSkus,
    unsoldSkus: (skus, served) => {
      const sold = soldSkus(served ?? [])
      const nearest = nearestAmong(sold)
      return [...new Set(skus)]
        .filter((sku) => !sold.has(sku) && (served !== undefined || freeModelOf(sku) === undefined))
        .map((sku, at) => ({ sku, meant: at < MAX_COMPARED_SKUS ? nearest(sku) : undefined }))
    },
  }
}

type Videos = Pick<Catalog, 'videoFamilies'>

/** Names of the families whose videos `/v1/videos` can make. */
export function videoFamilyNames({ videoFamilies }: Videos): readonly string[] {
  return videoFamilies.map(({ family }) => family)
}

/** The rules that translate orders of videos for a family. */
export function videoRules({ videoFamilies }: Videos, family: string): SimpleVideoRules {
  const found = videoFamilies.find((rules) => rules.family === family)
  invariant(found, `a family that makes videos: ${family}`)
  return found.simpleVideo
}
