import type { Database } from '../../history/postgres/database.js';

/** The catalogue is in the database of the history; each module has separate connections. */
export type CatalogueDatabase = Database['db'];
export const CatalogueDatabase = Symbol('CatalogueDatabase');
