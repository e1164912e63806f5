import { pageRoute } from '../page.tsx'
import { fileRoute } from '../page-files.ts'
import type { Subject } from '../subject.ts'
import { bookFile, bookPage } from './price-book.tsx'
import { pricesFile, pricesPage } from './prices.tsx'

/** Prices have no place in the head: they are a tab of the ledger. */
export const prices: Subject = {
  register: (app, services) => {
    pageRoute(app, services, pricesPage)
    fileRoute(app, services, pricesPage, pricesFile)
    pageRoute(app, services, bookPage)
    fileRoute(app, services, bookPage, bookFile)
  },
}
