import { Map as ManyEntries } from 'immutable'
import type { Decider } from '../decider.ts'
import type { TenantViewed, ViewEvent } from './events.ts'

/** The hour of the last view of each token. */
export type ViewsState = ManyEntries<string, string>

const hourOf = ({ viewedAt }: TenantViewed): string => viewedAt.slice(0, 'YYYY-MM-DDTHH'.length)

/** Records a view of a tenant. The views of one token within an hour are one, with the first reason. */
export const viewDecider: Decider<ViewsState, TenantViewed, ViewEvent> = {
  initial: ManyEntries(),
  decide: (data, state) =>
    state.get(data.by.tokenId) === hourOf(data) ? [] : [{ type: 'TenantViewed', data }],
  evolve: (state, { data }) => state.set(data.by.tokenId, hourOf(data)),
}
