import type { Subject } from '../subject.ts'
import { savedViewRoutes } from './saved-views.tsx'

/** Saved views have no place: the name of the reader in the head leads to them. */
export const savedViews: Subject = { register: savedViewRoutes }
