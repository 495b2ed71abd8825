//! ALTER TABLE.

use super::create_table::TableElement;
use super::{Parser, Result};
use crate::ast::{
    AlterAlgorithm, AlterLock, AlterTable, AlterTableAction, ColumnPosition, OrderItem, PartitionNames, Statement,
};
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// ALTER TABLE, the words taken.
    pub(super) fn alter_table(&mut self) -> Result<Statement> {
        let mut alter = AlterTable {
            name: self.object_name()?,
            actions: Vec::new(),
            algorithm: None,
            lock: None,
            validation: None,
        };
        if !self.at_end() && !self.at_partitioning() {
            self.alter_item(&mut alter)?;
            while self.eat_kind(TokenKind::Comma) {
                self.alter_item(&mut alter)?;
            }
        }
        if let Some(partitioning) = self.optional_partitioning()? {
            alter.actions.push(AlterTableAction::PartitionBy(partitioning));
        } else if self.eat_pair("REMOVE", "PARTITIONING") {
            alter.actions.push(AlterTableAction::RemovePartitioning);
        }
        Ok(Statement::AlterTable(Box::new(alter)))
    }

    fn at_partitioning(&self) -> bool {
        (self.at("PARTITION") && self.peek_is(1, "BY")) || (self.at("REMOVE") && self.peek_is(1, "PARTITIONING"))
    }

    /// One element of the list: a modifier of the whole statement, or actions.
    fn alter_item(&mut self, alter: &mut AlterTable) -> Result<()> {
        match self.upper().as_str() {
            "ALGORITHM" => alter.algorithm = Some(self.algorithm()?),
            "LOCK" => alter.lock = Some(self.alter_lock()?),
            "WITH" | "WITHOUT" => alter.validation = Some(self.validation()?),
            "ADD" => self.alter_add(&mut alter.actions)?,
            _ => {
                let action = self.alter_action()?;
                alter.actions.push(action);
            }
        }
        Ok(())
    }

    /// `ALGORITHM [=] ..` and `LOCK [=] ..` behind CREATE INDEX and DROP INDEX.
    pub(super) fn algorithm_and_lock(&mut self) -> Result<(Option<AlterAlgorithm>, Option<AlterLock>)> {
        let (mut algorithm, mut lock) = (None, None);
        loop {
            if algorithm.is_none() && self.at("ALGORITHM") {
                algorithm = Some(self.algorithm()?);
            } else if lock.is_none() && self.at("LOCK") {
                lock = Some(self.alter_lock()?);
            } else {
                return Ok((algorithm, lock));
            }
        }
    }

    fn algorithm(&mut self) -> Result<AlterAlgorithm> {
        self.expect("ALGORITHM")?;
        self.optional_equal();
        let algorithm = match self.upper().as_str() {
            "DEFAULT" => AlterAlgorithm::Default,
            "COPY" => AlterAlgorithm::Copy,
            "INPLACE" => AlterAlgorithm::InPlace,
            "INSTANT" => AlterAlgorithm::Instant,
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(algorithm)
    }

    fn alter_lock(&mut self) -> Result<AlterLock> {
        self.expect("LOCK")?;
        self.optional_equal();
        let lock = match self.upper().as_str() {
            "DEFAULT" => AlterLock::Default,
            "NONE" => AlterLock::None,
            "SHARED" => AlterLock::Shared,
            "EXCLUSIVE" => AlterLock::Exclusive,
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(lock)
    }

    /// WITH VALIDATION or WITHOUT VALIDATION.
    fn validation(&mut self) -> Result<bool> {
        let with = self.eat("WITH");
        if !with {
            self.expect("WITHOUT")?;
        }
        self.expect("VALIDATION")?;
        Ok(with)
    }

    fn alter_add(&mut self, actions: &mut Vec<AlterTableAction>) -> Result<()> {
        self.expect("ADD")?;
        if self.at("PARTITION") {
            actions.push(self.add_partitions()?);
            return Ok(());
        }
        let column_word = self.eat("COLUMN");
        if self.at_kind(TokenKind::LeftParen) {
            let elements = self.paren_list(Self::table_element)?;
            actions.extend(elements.into_iter().map(|element| add_action(element, None)));
            return Ok(());
        }
        let element = if column_word {
            TableElement::Column(Box::new(self.column_definition()?))
        } else {
            self.table_element()?
        };
        let position = match element {
            TableElement::Column(_) => self.optional_column_position()?,
            _ => None,
        };
        actions.push(add_action(element, position));
        Ok(())
    }

    fn optional_column_position(&mut self) -> Result<Option<ColumnPosition>> {
        if self.eat("FIRST") {
            return Ok(Some(ColumnPosition::First));
        }
        if self.eat("AFTER") {
            return Ok(Some(ColumnPosition::After(self.ident()?)));
        }
        Ok(None)
    }

    fn add_partitions(&mut self) -> Result<AlterTableAction> {
        self.expect("PARTITION")?;
        self.eat_any(&["NO_WRITE_TO_BINLOG", "LOCAL"]);
        if self.eat("PARTITIONS") {
            let count = Some(self.integer()?);
            let definitions = Vec::new();
            return Ok(AlterTableAction::AddPartitions { definitions, count });
        }
        let definitions = self.paren_list(Self::partition_definition)?;
        Ok(AlterTableAction::AddPartitions { definitions, count: None })
    }

    fn alter_action(&mut self) -> Result<AlterTableAction> {
        let upper = self.upper();
        match upper.as_str() {
            "CHANGE" => {
                self.advance();
                self.eat("COLUMN");
                let old_name = self.ident()?;
                let column = Box::new(self.column_definition()?);
                let position = self.optional_column_position()?;
                Ok(AlterTableAction::ChangeColumn { old_name, column, position })
            }
            "MODIFY" => {
                self.advance();
                self.eat("COLUMN");
                let column = Box::new(self.column_definition()?);
                let position = self.optional_column_position()?;
                Ok(AlterTableAction::ModifyColumn { column, position })
            }
            "DROP" => self.alter_drop(),
            "ALTER" => self.alter_alter(),
            "RENAME" => self.alter_rename(),
            "CONVERT" => self.alter_convert(),
            "ORDER" => self.alter_order(),
            "ENABLE" | "DISABLE" => {
                self.advance();
                self.expect("KEYS")?;
                Ok(if upper.as_str() == "ENABLE" {
                    AlterTableAction::EnableKeys
                } else {
                    AlterTableAction::DisableKeys
                })
            }
            "FORCE" => {
                self.advance();
                Ok(AlterTableAction::Force)
            }
            "DISCARD" | "IMPORT" => self.alter_tablespace_files(upper.as_str() == "DISCARD"),
            "SECONDARY_LOAD" => {
                self.advance();
                Ok(AlterTableAction::SecondaryLoad)
            }
            "SECONDARY_UNLOAD" => {
                self.advance();
                Ok(AlterTableAction::SecondaryUnload)
            }
            "COALESCE" | "REORGANIZE" | "EXCHANGE" | "TRUNCATE" | "ANALYZE" | "CHECK" | "OPTIMIZE" | "REBUILD"
            | "REPAIR" => self.alter_partitions(),
            _ => {
                let mut options = Vec::new();
                while let Some(option) = self.optional_table_option()? {
                    options.push(option);
                }
                if options.is_empty() { Err(self.unexpected()) } else { Ok(AlterTableAction::Options(options)) }
            }
        }
    }

    fn alter_drop(&mut self) -> Result<AlterTableAction> {
        self.expect("DROP")?;
        let upper = self.upper();
        match upper.as_str() {
            "PRIMARY" => {
                self.expect_all(&["PRIMARY", "KEY"])?;
                Ok(AlterTableAction::DropPrimaryKey)
            }
            "INDEX" | "KEY" => {
                self.advance();
                self.index_name().map(AlterTableAction::DropIndex)
            }
            "FOREIGN" => {
                self.expect_all(&["FOREIGN", "KEY"])?;
                self.ident().map(AlterTableAction::DropForeignKey)
            }
            "CHECK" => {
                self.advance();
                self.ident().map(AlterTableAction::DropCheck)
            }
            "CONSTRAINT" => {
                self.advance();
                self.index_name().map(AlterTableAction::DropConstraint)
            }
            "PARTITION" => {
                self.advance();
                self.eat_any(&["NO_WRITE_TO_BINLOG", "LOCAL"]);
                self.comma_list(Self::ident).map(AlterTableAction::DropPartitions)
            }
            _ => {
                self.eat("COLUMN");
                let column = self.ident()?;
                self.eat_any(&["RESTRICT", "CASCADE"]);
                Ok(AlterTableAction::DropColumn(column))
            }
        }
    }

    /// ALTER [COLUMN] | INDEX | CHECK | CONSTRAINT.
    fn alter_alter(&mut self) -> Result<AlterTableAction> {
        self.expect("ALTER")?;
        if self.eat("INDEX") {
            let index = self.index_name()?;
            let visible = self.visibility()?;
            return Ok(AlterTableAction::SetIndexVisible { index, visible });
        }
        if self.eat_any(&["CHECK", "CONSTRAINT"]) {
            let name = self.ident()?;
            let enforced = !self.eat("NOT");
            self.expect("ENFORCED")?;
            return Ok(AlterTableAction::SetConstraintEnforced { name, enforced });
        }
        self.eat("COLUMN");
        let column = self.ident()?;
        if self.eat("DROP") {
            self.expect("DEFAULT")?;
            return Ok(AlterTableAction::DropColumnDefault { column });
        }
        self.expect("SET")?;
        if self.eat("DEFAULT") {
            let (default, is_expression) = self.column_default()?;
            return Ok(AlterTableAction::SetColumnDefault { column, default, is_expression });
        }
        let visible = self.visibility()?;
        Ok(AlterTableAction::SetColumnVisible { column, visible })
    }

    fn visibility(&mut self) -> Result<bool> {
        let visible = self.eat("VISIBLE");
        if !visible {
            self.expect("INVISIBLE")?;
        }
        Ok(visible)
    }

    fn alter_rename(&mut self) -> Result<AlterTableAction> {
        self.expect("RENAME")?;
        if self.eat("COLUMN") {
            let from = self.ident()?;
            self.expect("TO")?;
            let to = self.ident()?;
            return Ok(AlterTableAction::RenameColumn { from, to });
        }
        if self.eat_any(&["INDEX", "KEY"]) {
            let from = self.ident()?;
            self.expect("TO")?;
            let to = self.ident()?;
            return Ok(AlterTableAction::RenameIndex { from, to });
        }
        if !self.eat_any(&["TO", "AS"]) {
            self.optional_equal();
        }
        self.object_name().map(AlterTableAction::RenameTable)
    }

    fn alter_convert(&mut self) -> Result<AlterTableAction> {
        self.expect_all(&["CONVERT", "TO"])?;
        let charset = self.optional_charset_clause()?.ok_or_else(|| self.unexpected())?;
        let collation = if self.eat("COLLATE") {
            self.optional_equal();
            Some(self.collation_name()?)
        } else {
            None
        };
        Ok(AlterTableAction::ConvertCharset { charset, collation })
    }

    fn alter_order(&mut self) -> Result<AlterTableAction> {
        self.expect_all(&["ORDER", "BY"])?;
        // Commas between columns belong to this action, as MySQL's grammar has it.
        let items: Vec<OrderItem> = self.comma_list(|parser| {
            let name = parser.column_name()?;
            let descending = parser.optional_direction();
            Ok(OrderItem { expr: crate::ast::Expr::Column(Box::new(name)), descending })
        })?;
        Ok(AlterTableAction::OrderBy(items))
    }

    /// DISCARD | IMPORT [PARTITION names] TABLESPACE.
    fn alter_tablespace_files(&mut self, discard: bool) -> Result<AlterTableAction> {
        self.advance();
        let names = if self.eat("PARTITION") { Some(self.partition_names()?) } else { None };
        self.expect("TABLESPACE")?;
        Ok(match (names, discard) {
            (None, true) => AlterTableAction::DiscardTablespace,
            (None, false) => AlterTableAction::ImportTablespace,
            (Some(names), true) => AlterTableAction::DiscardPartitionTablespace(names),
            (Some(names), false) => AlterTableAction::ImportPartitionTablespace(names),
        })
    }

    fn alter_partitions(&mut self) -> Result<AlterTableAction> {
        let word = self.any_word()?;
        self.expect("PARTITION")?;
        if matches!(word.as_str(), "COALESCE" | "REORGANIZE" | "ANALYZE" | "OPTIMIZE" | "REBUILD" | "REPAIR") {
            self.eat_any(&["NO_WRITE_TO_BINLOG", "LOCAL"]);
        }
        match word.as_str() {
            "COALESCE" => self.integer().map(AlterTableAction::CoalescePartition),
            "REORGANIZE" => self.reorganize_partitions(),
            "EXCHANGE" => self.exchange_partition(),
            _ => {
                let names = self.partition_names()?;
                self.maintain_partitions(&word, names)
            }
        }
    }

    fn maintain_partitions(&mut self, word: &str, names: PartitionNames) -> Result<AlterTableAction> {
        Ok(match word {
            "TRUNCATE" => AlterTableAction::TruncatePartitions(names),
            "ANALYZE" => AlterTableAction::AnalyzePartitions(names),
            "OPTIMIZE" => AlterTableAction::OptimizePartitions(names),
            "REBUILD" => AlterTableAction::RebuildPartitions(names),
            "CHECK" => {
                let options = self.maintenance_options()?;
                AlterTableAction::CheckPartitions { names, options }
            }
            _ => {
                let options = self.maintenance_options()?;
                AlterTableAction::RepairPartitions { names, options }
            }
        })
    }

    fn reorganize_partitions(&mut self) -> Result<AlterTableAction> {
        let names = if self.at_ident() { self.comma_list(Self::ident)? } else { Vec::new() };
        let into = if names.is_empty() {
            Vec::new()
        } else {
            self.expect("INTO")?;
            self.paren_list(Self::partition_definition)?
        };
        Ok(AlterTableAction::ReorganizePartitions { names, into })
    }

    fn exchange_partition(&mut self) -> Result<AlterTableAction> {
        let partition = self.ident()?;
        self.expect_all(&["WITH", "TABLE"])?;
        let table = self.object_name()?;
        let validation = if self.at_any(&["WITH", "WITHOUT"]) { Some(self.validation()?) } else { None };
        Ok(AlterTableAction::ExchangePartition { partition, table, validation })
    }
}

fn add_action(element: TableElement, position: Option<ColumnPosition>) -> AlterTableAction {
    match element {
        TableElement::Column(column) => AlterTableAction::AddColumn { column, position },
        TableElement::Key(key) => AlterTableAction::AddKey(key),
        TableElement::ForeignKey(key) => AlterTableAction::AddForeignKey(key),
        TableElement::Check(check) => AlterTableAction::AddCheck(check),
    }
}
