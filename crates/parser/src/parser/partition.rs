//! PARTITION BY and partition definitions.

use super::{Parser, Result};
use crate::ast::{
    Expr, PartitionDefinition, PartitionMethod, PartitionNames, PartitionValues, Partitioning,
    SubpartitionDefinition, Subpartitioning, TableOption,
};
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// `PARTITION BY ..`.
    pub(super) fn optional_partitioning(&mut self) -> Result<Option<Partitioning>> {
        if self.eat_pair("PARTITION", "BY") { self.partitioning().map(Some) } else { Ok(None) }
    }

    /// What follows PARTITION BY.
    fn partitioning(&mut self) -> Result<Partitioning> {
        let method = self.partition_method()?;
        let mut partitioning =
            Partitioning { method, partition_count: None, subpartition: None, partitions: Vec::new() };
        if self.eat("PARTITIONS") {
            partitioning.partition_count = Some(self.integer()?);
        }
        if self.eat("SUBPARTITION") {
            self.expect("BY")?;
            let method = self.hash_or_key_method()?;
            let count = if self.eat("SUBPARTITIONS") { Some(self.integer()?) } else { None };
            partitioning.subpartition = Some(Subpartitioning { method, count });
        }
        if self.at_kind(TokenKind::LeftParen) {
            partitioning.partitions = self.paren_list(Self::partition_definition)?;
        }
        Ok(partitioning)
    }

    fn partition_method(&mut self) -> Result<PartitionMethod> {
        let range = self.at("RANGE");
        if !range && !self.at("LIST") {
            return self.hash_or_key_method();
        }
        self.advance();
        if self.eat("COLUMNS") {
            let columns = self.ident_list_in_parens()?;
            return Ok(if range {
                PartitionMethod::RangeColumns(columns)
            } else {
                PartitionMethod::ListColumns(columns)
            });
        }
        let expr = self.expr_in_parens()?;
        Ok(if range { PartitionMethod::Range(expr) } else { PartitionMethod::List(expr) })
    }

    fn hash_or_key_method(&mut self) -> Result<PartitionMethod> {
        let linear = self.eat("LINEAR");
        if self.eat("HASH") {
            let expr = self.expr_in_parens()?;
            return Ok(PartitionMethod::Hash { linear, expr });
        }
        self.expect("KEY")?;
        let mut algorithm = None;
        if self.eat("ALGORITHM") {
            self.optional_equal();
            algorithm = Some(self.integer()?);
        }
        let columns = if self.peek(1).kind == TokenKind::RightParen {
            self.expect_kind(TokenKind::LeftParen)?;
            self.expect_kind(TokenKind::RightParen)?;
            Vec::new()
        } else {
            self.ident_list_in_parens()?
        };
        Ok(PartitionMethod::Key { linear, algorithm, columns })
    }

    fn expr_in_parens(&mut self) -> Result<Expr> {
        self.expect_kind(TokenKind::LeftParen)?;
        let expr = self.expr()?;
        self.expect_kind(TokenKind::RightParen)?;
        Ok(expr)
    }

    pub(super) fn partition_definition(&mut self) -> Result<PartitionDefinition> {
        self.expect("PARTITION")?;
        let name = self.ident()?;
        let values = self.optional_partition_values()?;
        let options = self.partition_options()?;
        let subpartitions = if self.at_kind(TokenKind::LeftParen) {
            self.paren_list(|parser| {
                parser.expect("SUBPARTITION")?;
                let name = parser.ident_or_string()?;
                let options = parser.partition_options()?;
                Ok(SubpartitionDefinition { name, options })
            })?
        } else {
            Vec::new()
        };
        Ok(PartitionDefinition { name, values, options, subpartitions })
    }

    fn partition_options(&mut self) -> Result<Vec<TableOption>> {
        let mut options = Vec::new();
        while let Some(option) = self.optional_table_option()? {
            options.push(option);
        }
        Ok(options)
    }

    fn optional_partition_values(&mut self) -> Result<Option<PartitionValues>> {
        if !self.eat("VALUES") {
            return Ok(None);
        }
        if self.eat("IN") {
            let rows = self.paren_list(|parser| {
                if parser.at_kind(TokenKind::LeftParen) {
                    parser.exprs_in_parens()
                } else {
                    Ok(vec![parser.expr()?])
                }
            })?;
            return Ok(Some(PartitionValues::In(rows)));
        }
        self.expect_all(&["LESS", "THAN"])?;
        let bounds = if self.eat("MAXVALUE") {
            vec![None]
        } else {
            self.paren_list(|parser| if parser.eat("MAXVALUE") { Ok(None) } else { parser.expr().map(Some) })?
        };
        Ok(Some(PartitionValues::LessThan(bounds)))
    }

    /// `ALL` or a list of names.
    pub(super) fn partition_names(&mut self) -> Result<PartitionNames> {
        if self.eat("ALL") {
            return Ok(PartitionNames::All);
        }
        self.comma_list(Self::ident).map(PartitionNames::Names)
    }
}
