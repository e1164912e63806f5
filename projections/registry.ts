import { accessProjection } from './access/projection.ts'
import { assetsProjection } from './assets/projection.ts'
import type { Projection } from './engine/types.ts'
import { filesProjection } from './files/projection.ts'
import { ledgerProjection } from './ledger/projection.ts'
import { pricesProjection } from './prices/projection.ts'
import { proposalsProjection } from './proposals/projection.ts'
import { statementsProjection } from './statements/projection.ts'
import { tasksProjection } from './tasks/projection.ts'
import { timelineProjection } from './timeline/projection.ts'
import { voicesProjection } from './voices/projection.ts'

/** Every read model; a further one is a further line. */
export const allProjections: readonly Projection[] = [
  accessProjection,
  pricesProjection,
  proposalsProjection,
  statementsProjection,
  tasksProjection,
  filesProjection,
  voicesProjection,
  assetsProjection,
  ledgerProjection,
  timelineProjection,
]

/** A read model by name. */
export function findProjection(name: string): Projection | undefined {
  return allProjections.find((projection) => projection.name === name)
}
